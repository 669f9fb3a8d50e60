// Whole run: needs many requests and waits.
// `logs tail` and `logs list`: API requests, live and past, as text and as JSON.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { keyedSale } from '../support/keyed-sale.ts';
import { openCuttableConnection } from '../support/processes/cuttable-connection.ts';
import {
  type CommandResult,
  type RunOptions,
  signedInCommandLine,
} from '../support/processes/switchyard-command.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { until } from '../support/wait-for-result.ts';

type Line = Awaited<ReturnType<typeof signedInCommandLine>>;

const process = '/payment/v1/transactions/process';
const ofSales = ['--operation', 'processTransaction'];

describe('the request log on the command line', () => {
  let setup: TestOrganization;
  let line: Line;
  before(async () => {
    setup = await createTestOrganization();
    line = await signedInCommandLine(setup);
  });
  after(() => line.remove());

  /** Sends a sale and waits until the request log contains it. */
  async function sell(amount: number): Promise<string> {
    const { merchantId, storeId, token } = setup.merchant;
    const body = keyedSale({ merchantId, storeId, amount });
    const answer = await setup.client.call('POST', process, { token, body });
    const id = String(answer.headers['x-request-id']);
    await until(async () => {
      const path = `/logs/v1/requests?requestId=${id}`;
      const loggedRequest = await setup.client.call('GET', path, { token: setup.acquirerToken });
      return loggedRequest.body.items[0];
    }, 'the line');
    return id;
  }

  async function tailing(
    args: string[],
    then: (stop: () => void, readStdout: () => string) => Promise<void>,
    options: RunOptions = {},
  ): Promise<CommandResult> {
    const stop = new AbortController();
    let isWaiting = false;
    let printed = '';
    const ended = line.run(['logs', 'tail', ...ofSales, ...args], {
      ...options,
      stopping: stop.signal,
      onWritten: ({ stdout, stderr }) => {
        isWaiting ||= stderr.includes('Waiting for requests');
        printed = stdout;
      },
    });
    const failed = ended.then(({ stderr }) => assert.ok(isWaiting, stderr));
    await Promise.race([eventually('it waits', () => isWaiting), failed]);
    await then(
      () => stop.abort(),
      () => printed,
    );
    return ended;
  }

  const rows = (text: string) => text.trimEnd().split('\n');

  test('the command prints the last requests before new requests, and Ctrl+C ends it without an error message', async () => {
    const ids = [await sell(100), await sell(0), await sell(200)];
    const ended = await tailing(['-n', '2', '--json'], async (stop, readStdout) => {
      ids.push(await sell(0));
      await eventually('three are shown', () => rows(readStdout()).length === 3);
      stop();
    });
    assert.equal(ended.code, 130);
    assert.doesNotMatch(ended.stderr, /error/);
    const reported = rows(ended.stdout).map((text) => JSON.parse(text));
    assert.deepEqual(
      reported.map(({ requestId }) => requestId),
      ids.slice(1),
    );
    assert.deepEqual(
      reported.map(({ status }) => status),
      [422, 200, 422],
    );
  });

  test('without a terminal a failed request is one line with reason and request id', async () => {
    let id = '';
    const ended = await tailing(['-n', '0', '--count', '1'], async () => {
      id = await sell(0);
    });
    assert.equal(ended.code, 0, ended.stderr);
    const reported = `${process.padEnd(64)}  amount_zero  ${id}  /amount`;
    assert.match(ended.stdout, /^[0-9:.]{12} {2}422 +\d+ ms {2}POST {5}\/payment/);
    assert.ok(ended.stdout.endsWith(`${reported}\n`), ended.stdout);
  });

  test('on a terminal the lines fit and have colours, and a failed request has a second line', async () => {
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
    // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours
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

  // Spec: QRPROV-44
  test('the command applies its filters to new requests, and a connection failure loses no request', async (t) => {
    const wire = await openCuttableConnection(setup.settings.port);
    t.after(wire.close);
    const env = { SWITCHYARD_CLI_URL: `https://localhost:${wire.port}` };
    const ids: string[] = [];
    const ended = await tailing(
      ['-n', '0', '--status', '4xx', '--method', 'post', '--code', 'amount_zero', '--json'],
      async (stop, readStdout) => {
        await sell(100);
        wire.cut();
        ids.push(await sell(0));
        wire.restore();
        ids.push(await sell(0));
        await eventually(
          'both are shown',
          () => rows(readStdout()).length === 2 && readStdout() !== '',
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

  test('past requests are listed and filtered', async () => {
    const id = await sell(0);
    const ended = await line.run(['logs', 'list', '--request', id, '--json']);
    assert.equal(ended.code, 0, ended.stderr);
    assert.equal(ended.json().items[0].requestId, id);
    const table = await line.run(['logs', 'list', ...ofSales, '--status', '422', '-n', '1']);
    assert.match(table.stdout, /^AT +STATUS +METHOD +PATH +CODE +REQUEST\n/);
    assert.match(table.stderr, /The list has more items/);
    const emptyList = await line.run(['logs', 'list', '--from', '2999-01-01T00:00:00Z']);
    assert.equal(emptyList.stdout, 'Nothing found.\n');
  });

  test('invalid filters are reported at once', async () => {
    const merchant = await signedInCommandLine(setup, 'Merchant', setup.merchant.merchantId);
    for (const [ended, code] of [
      [line.run(['logs', 'tail', '--status', '9xx']), 2],
      [line.run(['logs', 'tail', '-n', '-1']), 2],
      [merchant.run(['logs', 'tail']), 4],
      [line.run(['logs', 'tail'], { env: { SWITCHYARD_CLI_URL: 'https://localhost:1' } }), 7],
    ] as const) {
      const { code: got, stderr } = await ended;
      assert.equal(got, code, stderr);
    }
    merchant.remove();
  });
});
