// Whole run: much is made, or waited for, before it shows.
// `logs tail` and `logs list`: what applications asked, as it happens, for people and for programs.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { commandLineOf, type Ended, type RunOptions } from './command-line.ts';
import { cutWire } from './cut-wire.ts';
import { eventually } from './eventually.ts';
import { keyedSale } from './keyed-sale.ts';
import { type Scene, scene } from './scene.ts';
import { until } from './until.ts';

type Line = Awaited<ReturnType<typeof commandLineOf>>;

const process = '/payment/v1/transactions/process';
const ofSales = ['--operation', 'processTransaction'];

describe('the request log on the command line', () => {
  let on: Scene;
  let line: Line;
  before(async () => {
    on = await scene();
    line = await commandLineOf(on);
  });
  after(() => line.remove());

  /** Waits until the line is kept. */
  async function sell(amount: number): Promise<string> {
    const { merchantId, storeId, token } = on.shop;
    const body = keyedSale({ merchantId, storeId, amount });
    const answer = await on.client.call('POST', process, { token, body });
    const id = String(answer.headers['x-request-id']);
    await until(async () => {
      const path = `/logs/v1/requests?requestId=${id}`;
      const found = await on.client.call('GET', path, { token: on.acquirerToken });
      return found.body.items[0];
    }, 'the line');
    return id;
  }

  async function tailing(
    args: string[],
    then: (stop: () => void, said: () => string) => Promise<void>,
    options: RunOptions = {},
  ): Promise<Ended> {
    const stop = new AbortController();
    let isWaiting = false;
    let shown = '';
    const ended = line.run(['logs', 'tail', ...ofSales, ...args], {
      ...options,
      stopping: stop.signal,
      onWritten: ({ stdout, stderr }) => {
        isWaiting ||= stderr.includes('Waiting for requests');
        shown = stdout;
      },
    });
    const failed = ended.then(({ stderr }) => assert.ok(isWaiting, stderr));
    await Promise.race([eventually('it waits', () => isWaiting), failed]);
    await then(
      () => stop.abort(),
      () => shown,
    );
    return ended;
  }

  const rows = (text: string) => text.trimEnd().split('\n');

  test('the last ones first, then those that come; Ctrl+C ends it without a fault', async () => {
    const ids = [await sell(100), await sell(0), await sell(200)];
    const ended = await tailing(['-n', '2', '--json'], async (stop, said) => {
      ids.push(await sell(0));
      await eventually('three are shown', () => rows(said()).length === 3);
      stop();
    });
    assert.equal(ended.code, 130);
    assert.doesNotMatch(ended.stderr, /error/);
    const told = rows(ended.stdout).map((text) => JSON.parse(text));
    assert.deepEqual(
      told.map(({ requestId }) => requestId),
      ids.slice(1),
    );
    assert.deepEqual(
      told.map(({ status }) => status),
      [422, 200, 422],
    );
  });

  test('where nobody sits a request is one line, with why and its id', async () => {
    let id = '';
    const ended = await tailing(['-n', '0', '--count', '1'], async () => {
      id = await sell(0);
    });
    assert.equal(ended.code, 0, ended.stderr);
    const told = `${process.padEnd(64)}  amount_zero  ${id}  /amount`;
    assert.match(ended.stdout, /^[0-9:.]{12} {2}422 +\d+ ms {2}POST {5}\/payment/);
    assert.ok(ended.stdout.endsWith(`${told}\n`), ended.stdout);
  });

  test('a terminal gets lines that fit, with colour, and a second one for what failed', async () => {
    const ended = await tailing(
      ['-n', '0', '--count', '2'],
      async () => {
        await sell(100);
        await sell(0);
      },
      { columns: 60 },
    );
    const [good = '', bad = '', why = '', ...more] = rows(ended.stdout);
    assert.deepEqual(more, []);
    assert.ok(good.includes('\u001b[32m200\u001b[0m') && bad.includes('\u001b[33m422\u001b[0m'));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what colours a terminal
    const plain = [good, bad, why].map((text) => text.replace(/\u001b\[\d+m/g, ''));
    assert.ok(plain.every((text) => text.length <= 60));
    assert.match(plain[0] ?? '', /…\S+process$/);
    assert.match(plain[2] ?? '', /^ {19}amount_zero {2}[0-9a-f-]+…$/);
    const without = await tailing(
      ['-n', '1', '--count', '1', '--no-color'],
      async () => {
        await sell(100);
      },
      { columns: 60 },
    );
    assert.ok(!without.stdout.includes('\u001b'));
  });

  test('filters hold for the past and for what comes, and over a break none is lost', async (t) => {
    const wire = await cutWire(on.settings.port);
    t.after(wire.close);
    const env = { SWITCHYARD_CLI_URL: `https://localhost:${wire.port}` };
    const ids: string[] = [];
    const ended = await tailing(
      ['-n', '0', '--status', '4xx', '--method', 'post', '--code', 'amount_zero', '--json'],
      async (stop, said) => {
        await sell(100);
        wire.cut();
        ids.push(await sell(0));
        wire.mend();
        ids.push(await sell(0));
        await eventually(
          'both are shown',
          () => rows(said()).length === 2 && said() !== '',
          60_000,
        );
        stop();
      },
      { env },
    );
    assert.deepEqual(
      rows(ended.stdout).map((text) => JSON.parse(text).requestId),
      ids,
    );
  });

  test('the past as a list, found by what it says', async () => {
    const id = await sell(0);
    const ended = await line.run(['logs', 'list', '--request', id, '--json']);
    assert.equal(ended.code, 0, ended.stderr);
    assert.equal(ended.json().items[0].requestId, id);
    const table = await line.run(['logs', 'list', ...ofSales, '--status', '422', '-n', '1']);
    assert.match(table.stdout, /^AT +STATUS +METHOD +PATH +CODE +REQUEST\n/);
    assert.match(table.stderr, /The list has more items/);
    const none = await line.run(['logs', 'list', '--from', '2999-01-01T00:00:00Z']);
    assert.equal(none.stdout, 'Nothing found.\n');
  });

  test('what is wrong is told at once', async () => {
    const shop = await commandLineOf(on, 'Merchant', on.shop.merchantId);
    for (const [ended, code] of [
      [line.run(['logs', 'tail', '--status', '9xx']), 2],
      [line.run(['logs', 'tail', '-n', '-1']), 2],
      [shop.run(['logs', 'tail']), 4],
      [line.run(['logs', 'tail'], { env: { SWITCHYARD_CLI_URL: 'https://localhost:1' } }), 7],
    ] as const) {
      const { code: got, stderr } = await ended;
      assert.equal(got, code, stderr);
    }
    shop.remove();
  });
});
