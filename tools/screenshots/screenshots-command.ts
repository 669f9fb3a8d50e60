// `npm run screenshots`: takes the pictures of README and documentation from the portal of a new demo.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { testCards } from '@switchyard/simulators';
import type { Page } from 'playwright-core';
import { waitForLink } from '../../packages/server/test/faults/load-during-faults.ts';
import {
  loaded,
  openPortal,
  type TestPortal,
} from '../../packages/server/test/portal/portal-in-chromium.ts';
import { keyedSale } from '../../packages/server/test/support/keyed-sale.ts';
import { eventually } from '../../packages/server/test/support/wait-for-condition.ts';
import { repositoryRoot } from '../repository-root.ts';

const folder = join(repositoryRoot, 'docs/images');
const viewport = { width: 1280, height: 800 };
/** The picture of the terminal has more colours, and would be too large. */
const smallViewport = { width: 1152, height: 720 };
/** The README loads both pictures. */
const bytesMost = 150_000;

/** The host declines an amount that ends in 51. */
const sales: readonly { readonly amount: number; readonly captureMode?: string }[] = [
  { amount: 1890 },
  { amount: 640 },
  { amount: 12_800, captureMode: 'Deferred' },
  { amount: 2450 },
  { amount: 9051 },
  { amount: 1275 },
  { amount: 7200 },
  { amount: 430 },
];
const cards = testCards.filter(({ behaviour }) => behaviour === 'Pays');
const firstOrder = 1041;

/** Sales of the demo merchant in several states. */
async function sell({ client, tokenOf }: TestPortal): Promise<void> {
  const token = await tokenOf('pos');
  await waitForLink(client, token);
  const post = async (path: string, body: object) => {
    const answer = await client.call('POST', `/payment/v1/transactions${path}`, { token, body });
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const ids: string[] = [];
  for (const [index, sale] of sales.entries()) {
    const clientTransactionId = `order-${firstOrder + index}`;
    const number = cards[index % cards.length]?.number;
    const instrument = { card: { number, expiryMonth: 12, expiryYear: 2030 } };
    const body = keyedSale({ ...sale, clientTransactionId, instrument });
    ids.push((await post('/process', body)).transactionId);
  }
  await post(`/${ids[3]}/refund`, { amount: 1000 });
  await post(`/${ids[6]}/refund`, {});
  const merchantToken = await tokenOf('merchant');
  await eventually('the reports have the last refund', async () => {
    const path = '/reporting/v1/transactions?state=Refunded';
    const { body } = await client.call('GET', path, { token: merchantToken });
    return body.items.length === 1;
  });
}

async function takePicture(page: Page, name: string): Promise<void> {
  const path = join(folder, name);
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  if (size > bytesMost)
    throw new Error(`${path} has ${size} bytes; at most ${bytesMost} are allowed`);
  process.stdout.write(`wrote docs/images/${name}, ${size} bytes\n`);
}

async function showPayments(page: Page): Promise<void> {
  await page.goto('/portal/payments');
  const table = page.getByRole('table', { name: 'Payments' });
  await table.getByText('Refunded', { exact: true }).waitFor();
  await loaded(page);
}

async function payAtTerminal(page: Page): Promise<void> {
  const terminal = page.getByRole('region', { name: 'Terminal', exact: true });
  await page.setViewportSize(smallViewport);
  await page.goto('/portal/virtual-terminal?method=Nexo');
  await page.getByText('Connected to the Cloud Connector').waitFor();
  await terminal.getByText('Welcome', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Send to the terminal', exact: true }).click();
  await terminal.getByText('Please pay', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Tap', exact: true }).click();
  await page.getByText('Paid · EUR 12.50').waitFor();
  await page.getByRole('region', { name: 'Customer receipt' }).waitFor();
  await page.evaluate(`document.querySelector('#content h1').scrollIntoView({ block: 'center' })`);
}

const portal = await openPortal('screenshots');
try {
  const context = await portal.signedIn('demo', { isTourOver: true, viewport });
  const page = await context.newPage();
  await sell(portal);
  await showPayments(page);
  await takePicture(page, 'portal-payments.png');
  await payAtTerminal(page);
  await takePicture(page, 'terminal-simulator.png');
} finally {
  await portal.close();
}
