"""The store on DynamoDB: the stored shape, the requests, how they are sent, and the verbs made of them."""
