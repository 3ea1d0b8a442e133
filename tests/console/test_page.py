"""The page in a browser: what people see and do."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from idem import Key
from idem.record import Failure, StoredResult
from sandbox.account import LocalAccount
from tests.console.conftest import SECONDS, Serve
from tests.operators.conftest import make_table
from tests.operators.records_in_every_state import EVERY, FAILED, SUCCEEDED, put

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

expect.set_options(timeout=SECONDS)

TIMES = "\N{MULTIPLICATION SIGN}"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def test_a_race_is_drawn_with_one_winner(serve: Serve, table: str, page: Page) -> None:
    page.goto(serve(table=table).url)
    page.get_by_label("Claims").fill("6")
    page.get_by_role("button", name="Race", exact=True).click()
    expect(page.locator(".racer")).to_have_count(6)
    expect(page.locator(".racer.won")).to_have_count(1)
    expect(page.locator(".verdict", has_text="refused")).to_have_count(5)
    expect(page.locator("#race-said")).to_contain_text("5 were refused by its record")
    winner = (page.locator(".racer.won .number").text_content() or "").removeprefix("Racer ")
    expect(page.locator(".verdict", has_text=f"lost to racer {winner}")).to_have_count(5)
    loser = page.locator(".racer:not(.won)").first
    loser.locator("summary").click()
    expect(loser.locator("figcaption").nth(1)).to_contain_text("ConditionalCheckFailedException")
    expect(loser.locator("pre").nth(1)).to_contain_text("claimToken")


def test_the_three_access_patterns_show_request_and_answer(serve: Serve, table: str, page: Page) -> None:
    page.goto(serve(table=table).url)
    said, wire = page.locator("#patterns-said"), page.locator("#wire-response")
    page.get_by_role("button", name="1 · Claim").click()
    expect(said).to_contain_text("Claimed: attempt 1")
    expect(page.locator("#wire-request")).to_contain_text("attribute_not_exists")
    page.get_by_role("button", name="1 · Claim").click()
    expect(said).to_contain_text("Refused: attempt 1 holds the key")
    expect(wire).to_contain_text("ConditionalCheckFailedException")
    page.get_by_role("button", name="2 · Record: done").click()
    expect(said).to_contain_text("attempt 1 succeeded")
    page.get_by_role("button", name="3 · Read").click()
    expect(wire).to_contain_text('"status": {"S": "succeeded"}')
    page.get_by_role("button", name="1 · Claim").click()
    expect(said).to_contain_text("Not run again")
    life = page.locator("#life")
    for kind in ("claimed", "refused", "completed", "replayed"):
        expect(life.locator(".timeline b", has_text=kind).first).to_be_visible()


def test_a_failed_attempt_is_followed_by_attempt_two(serve: Serve, table: str, page: Page) -> None:
    page.goto(serve(table=table).url)
    page.get_by_role("button", name="1 · Claim").click()
    expect(page.locator("#patterns-said")).to_contain_text("attempt 1")
    page.get_by_role("button", name="failed", exact=True).click()
    expect(page.locator("#rows .state")).to_have_text("reclaimable")
    page.get_by_role("button", name="1 · Claim").click()
    expect(page.locator("#patterns-said")).to_contain_text("Claimed: attempt 2")
    expect(page.locator(".timeline b", has_text="taken over")).to_be_visible()


def test_records_are_shown_by_state_with_their_times(serve: Serve, table: str, page: Page) -> None:
    served = serve(table=table, writes=False)
    put(served.connection.dynamodb, table, *EVERY)
    page.goto(served.url)
    expect(page.locator("#rows tr")).to_have_count(len(EVERY))
    page.get_by_role("button", name="stuck 1").click()
    expect(page.locator("#rows tr")).to_have_count(1)
    expect(page.locator("#rows")).to_contain_text(" min ")
    page.get_by_role("button", name="orders.fulfil#stuck").click()
    expect(page.locator("#life")).to_contain_text("takes over and runs the work again, as attempt 3")


def test_nothing_of_a_record_is_interpreted_as_markup(serve: Serve, table: str, page: Page) -> None:
    served = serve(table=table, writes=False)
    failure = Failure(type=HOSTILE, message=HOSTILE, reclaimable=False)
    put(
        served.connection.dynamodb,
        table,
        replace(
            SUCCEEDED, key=Key("o", HOSTILE), result=StoredResult("json", f'"{HOSTILE}"'), origin={"source": HOSTILE}
        ),
        replace(FAILED, failure=failure, origin={HOSTILE: HOSTILE}),
    )
    page.goto(served.url)
    for name in (f"o#{HOSTILE}", "payments.credit#failed"):
        page.get_by_role("button", name=name).click()
        expect(page.locator("#life h3")).to_have_text(name)
        expect(page.locator("#life .timeline")).to_contain_text(HOSTILE)
        page.locator("#life summary").click()
        expect(page.locator("#life pre")).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1  # the page's own
    # ... and the page's policy would not run it either; a dialog fails the test in any case.


@pytest.mark.usefixtures("deployed")
def test_a_sample_that_is_delivered_twice_makes_one_effect(serve: Serve, page: Page) -> None:
    page.goto(serve().url)
    page.get_by_role("button", name="Deliver orders/order_1002.json").click()
    run = page.locator("#runs li").first
    expect(run).to_contain_text(f"1 {TIMES} first run")
    expect(run).to_contain_text(f"1 {TIMES} replay")
    expect(run).to_contain_text("1002: 1 effect (+1)")
    page.get_by_role("button", name="Deliver payments/function_url.json").click()
    expect(run).to_contain_text("payments/function_url.json")
    expect(run).to_contain_text(f"1 {TIMES} 200 replayed")
    expect(run).to_contain_text("1 effect (+1)")
    page.get_by_role("button", name="Deliver payments/function_url.json").click()
    expect(run).to_contain_text(f"2 {TIMES} replay")
    expect(run).to_contain_text("(no new one)")
    expect(page.locator("#legend")).to_contain_text(re.compile(r"first runs [1-9].*replays [1-9]"))
    expect(page.locator("#chart svg")).to_be_visible()


@pytest.mark.usefixtures("deployed")
def test_a_sample_that_no_deployed_consumer_reads_is_refused(serve: Serve, page: Page) -> None:
    page.goto(serve().url)
    page.get_by_role("button", name="Deliver streams/kinesis.json").click()
    run = page.locator("#runs li").first
    expect(run).to_contain_text("not an SQS event")
    expect(run).to_contain_text("Ledger: unchanged")


def test_a_table_that_is_gone_is_said_and_comes_back(
    serve: Serve, table: str, page: Page, console_account: LocalAccount
) -> None:
    page.goto(serve(table=table).url)
    expect(page.locator("#records-count")).to_contain_text("0 records")
    console_account.client("dynamodb").delete_table(TableName=table)
    expect(page.locator("#trouble")).to_contain_text(f"There is no table {table}")
    page.get_by_role("button", name="Race", exact=True).click()
    expect(page.locator("#race-said")).to_contain_text("The race did not take place")
    make_table(console_account.client("dynamodb"), table)
    expect(page.locator("#trouble")).to_be_hidden()


def test_a_wrong_region_is_said(serve: Serve, table: str, page: Page) -> None:
    page.goto(serve(table=table, region="eu-west-1").url)
    expect(page.locator("#trouble")).to_contain_text("--region")
    expect(page.locator("#place")).to_contain_text("eu-west-1")


def test_a_server_that_has_ended_is_said(serve: Serve, table: str, page: Page) -> None:
    served = serve(table=table)
    page.goto(served.url)
    expect(page.locator("#records-count")).to_contain_text("0 records")
    page.goto(served.url + "assets/icon.svg")
    page.goto(served.url)
    served.stop()
    expect(page.locator("#trouble")).to_contain_text("does not answer")


def test_a_console_that_only_looks_says_so(serve: Serve, table: str, page: Page) -> None:
    page.goto(serve(table=table, writes=False).url)
    expect(page.locator("#mode")).to_have_text("only looks")
    expect(page.get_by_role("button", name="Race", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="1 · Claim")).to_be_disabled()
    expect(page.get_by_role("button", name="3 · Read")).to_be_enabled()


def test_the_page_is_driven_by_the_keyboard(serve: Serve, table: str, page: Page) -> None:
    page.goto(serve(table=table).url)
    expect(page.locator("#mode")).to_be_visible()
    page.get_by_label("Claims").press("Enter")
    expect(page.locator(".racer.won")).to_have_count(1)
    page.get_by_label("Key idem.console#").press("Enter")
    expect(page.locator("#patterns-said")).to_contain_text("Claimed")
    key = page.get_by_role("button", name="idem.console#order-1")
    key.press("Enter")
    expect(page.locator("#life h3")).to_have_text("idem.console#order-1")
    page.locator(".racer summary").first.press("Enter")
    expect(page.locator(".racer").first.locator("pre").first).to_be_visible()


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window_and_can_be_read(
    serve: Serve, table: str, page: Page, width: int, scheme: str
) -> None:
    served = serve(table=table)
    put(served.connection.dynamodb, table, *EVERY, replace(SUCCEEDED, key=Key("orders.fulfil", "x" * 300)))
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(served.url)
    expect(page.locator("#rows tr")).to_have_count(len(EVERY) + 1)
    page.get_by_role("button", name="Race", exact=True).click()
    expect(page.locator(".racer")).to_have_count(8)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(CONTRASTS) == []


# Every visible text against the ground it stands on: WCAG's 4.5 to 1 (3 to 1 for what is disabled, which WCAG leaves open).
CONTRASTS = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => { const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (node) => { for (; node; node = node.parentElement) { const c = parse(getComputedStyle(node).backgroundColor);
    if (c.length < 4 || c[3] > 0.5) return c.slice(0, 3); } return [255, 255, 255]; };
  const poor = [];
  for (const node of document.querySelectorAll("main *, header *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.closest(":disabled")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color).slice(0, 3)), light(ground(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(`${node.tagName}.${node.className} ${node.textContent.slice(0, 30)}`);
  }
  return poor;
}"""
