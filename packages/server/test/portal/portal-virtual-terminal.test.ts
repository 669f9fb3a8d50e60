// Whole run: pages in a browser.
// A till and a simulated terminal on one demo page in a real browser, through the connector: payments,
// aborts and disconnects, each charged once.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { waitForLink } from '../faults/load-during-faults.ts';
import { assertAccessible } from '../support/browser/accessibility-check.ts';
import { chromiumSkipReason } from '../support/browser/chromium.ts';
import type { Client } from '../support/https-client.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  assertFits,
  openPortal,
  recordBrowserProblems,
  type TestPortal,
  wide,
} from './portal-in-chromium.ts';

const address = '/portal/virtual-terminal?method=Nexo';

describe('a point of sale and a terminal in one page', { skip: chromiumSkipReason }, () => {
  let setup: TestPortal;
  let client: Client;
  let context: BrowserContext;
  let token: string;

  before(async () => {
    setup = await openPortal('virtual-terminal');
    client = setup.client;
    token = await setup.tokenOf('merchant');
    await waitForLink(client, token);
    context = await setup.signedIn('demo', { reducedMotion: 'reduce' });
  });
  after(() => setup?.close());

  /** Opens the screen in its own tab, and asserts that the browser reported no problem. */
  async function walk(steps: (page: Page) => Promise<void>): Promise<void> {
    const page = await context.newPage();
    const problems = recordBrowserProblems(page);
    try {
      await page.goto(address);
      await connected(page);
      await shows(page, 'Welcome');
      await steps(page);
      assert.deepEqual(problems, []);
    } finally {
      await page.close();
    }
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const terminal = (page: Page) => page.getByRole('region', { name: 'Terminal', exact: true });
  const shows = (page: Page, words: string) =>
    terminal(page).getByText(words, { exact: true }).waitFor();
  const connected = (page: Page) => page.getByText('Connected to the Cloud Connector').waitFor();
  const sentMessage = (page: Page) =>
    page.getByRole('region', { name: 'Point of sale → terminal' }).last();
  const response = (page: Page) =>
    page.getByRole('region', { name: 'Terminal → point of sale' }).last();

  async function pay(page: Page): Promise<void> {
    await shows(page, 'Welcome');
    await button(page, 'Send to the terminal').click();
    await shows(page, 'Please pay');
  }
  const choose = (page: Page, card: RegExp) =>
    page.getByRole('radio', { name: card }).check({ force: true });
  const tap = (page: Page) => button(page, 'Tap').click();
  const paid = (page: Page) => page.getByText('Paid · EUR 12.50').waitFor();

  /** The identifiers of the merchant's sales, once the reports have them. */
  async function listSales(): Promise<string[]> {
    const answer = await client.call('GET', '/reporting/v1/transactions?limit=200', { token });
    assert.equal(answer.status, 200);
    return answer.body.items.map(({ transactionId }: { transactionId: string }) => transactionId);
  }

  /** Asserts that the sales are the earlier ones and the one that the page links. */
  async function assertOneSaleMore(page: Page, earlier: readonly string[]): Promise<void> {
    const { transactionId } = await paymentIn(page);
    await eventually('the reports have the sale', async () =>
      (await listSales()).includes(transactionId),
    );
    assert.deepEqual(new Set(await listSales()), new Set([...earlier, transactionId]));
  }

  async function paymentIn(page: Page) {
    const href = await page.getByRole('link', { name: 'View this payment' }).getAttribute('href');
    const id = href?.split('/').at(-1) ?? '';
    return (await client.call('GET', `/payment/v1/transactions/${id}`, { token })).body;
  }

  // Spec: RIGHT-8
  test('a chip and PIN payment shows receipt and messages and is reversed', async () => {
    await walk(async (page) => {
      const boundingBox = await terminal(page).boundingBox();
      await pay(page);
      await choose(page, /Visa.*PIN 1234/);
      await button(page, 'Insert').click();
      await shows(page, 'Enter your PIN');
      await page.keyboard.type('9999');
      await page.keyboard.press('Enter');
      await shows(page, 'Wrong PIN: 2 tries left');
      for (const digit of '1234') await button(page, digit).click();
      await button(page, 'OK').click();
      await paid(page);
      await page.getByRole('region', { name: 'Customer receipt' }).waitFor();
      assert.deepEqual(
        await terminal(page).boundingBox(),
        boundingBox,
        'nothing moves for the receipt',
      );
      assert.match((await sentMessage(page).textContent()) ?? '', /"PaymentRequest"/);
      const responseText = (await response(page).textContent()) ?? '';
      assert.match(responseText, /"Result": "Success"/);
      assert.match(responseText, /"OnlinePIN"/);
      const transaction = await paymentIn(page);
      assert.deepEqual(
        [transaction.state, transaction.amount, transaction.entryMode],
        ['Captured', 1250, 'ContactChip'],
      );
      await button(page, 'Reverse').dblclick();
      await page.getByText('Reversed · EUR 12.50').waitFor();
      const { operations } = await paymentIn(page);
      assert.equal(operations.length, 1);
    });
  });

  test('a decline shows its reason, and an abort takes no money', async () => {
    await walk(async (page) => {
      await page.getByRole('combobox', { name: 'Result' }).click();
      await page.getByRole('option', { name: 'Declined: insufficient funds' }).click();
      await pay(page);
      await choose(page, /Mobile wallet/);
      await tap(page);
      await page.getByText(/^Not paid/).waitFor();
      await page.getByText(/Refusal: Insufficient funds/).waitFor();
      await button(page, 'Send to the terminal').click();
      await shows(page, 'Please pay');
      await button(page, 'Abort').click();
      await page.getByText(/Aborted: The request was aborted/).waitFor();
      await page.getByRole('button', { name: /^Abort Sent/ }).click();
      await page.getByText('The terminal sends no response to an abort message').waitFor();
    });
  });

  // Spec: NEXO-31
  test('after a disconnect the point of sale finds the payment, and money is taken once', async () => {
    await walk(async (page) => {
      const before = await listSales();
      await pay(page);
      await button(page, 'Disconnect').click();
      await page.getByText(/The response was lost/).waitFor();
      await tap(page);
      await shows(page, 'Approved');
      await button(page, 'Connect').click();
      await paid(page);
      await assertOneSaleMore(page, before);
      assert.equal((await paymentIn(page)).state, 'Captured');
      await page
        .getByRole('button', { name: /^TransactionStatus/ })
        .first()
        .waitFor();
    });
  });

  // Spec: NEXO-31
  test('after a reload during authorisation the point of sale finds the payment, and money is taken once', async () => {
    await walk(async (page) => {
      await page.getByRole('combobox', { name: 'Result' }).click();
      await page.getByRole('option', { name: 'Approved after eight seconds' }).click();
      await pay(page);
      await choose(page, /Mobile wallet/);
      const before = await listSales();
      await tap(page);
      await shows(page, 'Please wait …');
      await page.reload();
      await page.getByText('Paid · EUR 90.98').waitFor();
      await assertOneSaleMore(page, before);
      assert.equal((await paymentIn(page)).amount, 9_098);
    });
  });

  test('a second tab takes the terminal from the first tab', async () => {
    await walk(async (page) => {
      const other = await context.newPage();
      await other.goto(address);
      await other.getByText('This terminal is open in another tab').waitFor();
      await button(other, 'Use it in this tab').click();
      await connected(other);
      await page.getByText('This terminal is open in another tab').waitFor();
      await pay(other);
      await tap(other);
      await paid(other);
      await other.close();
      await connected(page);
    });
  });

  test('every state is accessible, wide and narrow, light and dark', async () => {
    await walk(async (page) => {
      async function checkScreen(name: string): Promise<void> {
        await assertFits(page, name);
        await assertAccessible(page, name);
        await page.setViewportSize(wide);
      }
      await checkScreen('waiting for the till');
      await pay(page);
      await checkScreen('waiting for a card');
      await choose(page, /Visa.*signature/);
      await button(page, 'Insert').click();
      await shows(page, 'Please sign');
      await checkScreen('waiting for a signature');
      await button(page, 'Confirm signature').click();
      await paid(page);
      await checkScreen('paid');
      await button(page, 'Diagnosis').click();
      await page.getByRole('button', { name: /^Diagnosis Success/ }).waitFor();
      await button(page, 'Disconnect').click();
      await checkScreen('without its cable');
    });
  });
});
