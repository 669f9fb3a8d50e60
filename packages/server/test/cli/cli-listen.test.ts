// Whole run: commands as users start them, each a process of its own.
// `webhooks listen`: events arrive at the server of the developer, signed, once and in order.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePorts } from '../support/free-ports.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { openCuttableConnection } from '../support/processes/cuttable-connection.ts';
import {
  type CommandResult,
  type RunOptions,
  signedInCommandLine,
} from '../support/processes/switchyard-command.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  answerWith,
  assertGenuine,
  isGenuineByKey,
  receiver,
} from '../webhooks/webhook-receiver.ts';

type Line = Awaited<ReturnType<typeof signedInCommandLine>>;

describe('webhooks listen', () => {
  let setup: TestOrganization;
  let line: Line;
  before(async () => {
    setup = await createTestOrganization();
    line = await signedInCommandLine(setup);
  });
  after(() => line.remove());

  async function sell(amount = 1050): Promise<string> {
    const { merchantId, storeId, token } = setup.merchant;
    const body = keyedSale({ merchantId, storeId, amount });
    const answer = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token,
      body,
    });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.transactionId;
  }

  /** Runs the command, calls `then` when it waits for events, and returns its result. */
  async function listening(
    args: string[],
    then: (stop: () => void, readStdout: () => string) => Promise<void>,
    options: RunOptions = {},
  ): Promise<CommandResult> {
    const stop = new AbortController();
    let isWaiting = false;
    let printed = '';
    const ended = line.run(['webhooks', 'listen', ...args], {
      ...options,
      stopping: stop.signal,
      onWritten: ({ stdout, stderr }) => {
        isWaiting ||= stderr.includes('Waiting for events');
        printed = stdout;
      },
    });
    const failed = ended.then(({ stderr }) => {
      if (!isWaiting) throw new Error(stderr);
    });
    await Promise.race([eventually('it waits', () => isWaiting), failed]);
    await then(
      () => stop.abort(),
      () => printed,
    );
    return ended;
  }

  const sales = ['--events', 'transaction.captured,transaction.declined'];

  // Spec: QRPROV-41
  test('each event is forwarded in the order of the feed, signed with a stable secret', async (t) => {
    const to = await receiver();
    t.after(to.stop);
    const { secret, publicKey } = (
      await line.run(['webhooks', 'listen', '--print-secret', '--json'])
    ).json();
    const ids: string[] = [];
    const ended = await listening(
      [...sales, '--forward-to', to.url, '--count', '3', '-H', 'x-tenant: blue'],
      async () => {
        for (const amount of [100, 19_051, 300]) ids.push(await sell(amount));
      },
    );
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stderr, /3 events: 3 accepted, 0 not accepted\./);
    assert.ok(ended.stderr.includes(secret));
    const types = to.received.map(({ body }) => JSON.parse(body).type);
    const captured = 'transaction.captured';
    assert.deepEqual(types, [captured, 'transaction.declined', captured]);
    const lines = ended.stdout.trimEnd().split('\n');
    assert.equal(lines.length, 3);
    for (const [index, one] of to.received.entries()) {
      const { id, body, headers } = one;
      assert.equal(JSON.parse(body).data.transactionId, ids[index]);
      assert.equal(headers['x-tenant'], 'blue');
      assert.equal(headers['authorization'], undefined);
      assertGenuine(one, secret);
      assert.ok(isGenuineByKey(one, publicKey));
      const printed = new RegExp(`^[0-9:.]{12}  204 +\\d+ ms  ${types[index]} +${id}  #\\d+$`);
      assert.match(lines[index] ?? '', printed);
    }
  });

  test('a forwarded event equals the event of the feed byte for byte', async (t) => {
    const to = await receiver();
    t.after(to.stop);
    let id = '';
    const ended = await listening(
      [...sales, '--forward-to', to.url, '--count', '1', '--json'],
      async () => {
        id = await sell();
      },
    );
    const reported = ended.json();
    assert.equal(reported.data.transactionId, id);
    assert.equal(reported.forwarded.status, 204);
    const answer = await setup.client.call(
      'GET',
      `/events/v1?after=${reported.position - 1}&limit=1`,
      {
        token: setup.acquirerToken,
      },
    );
    const [{ type, timestamp, data, eventId }] = answer.body.items;
    assert.equal(to.received[0]?.body, JSON.stringify({ type, timestamp, data }));
    assert.equal(to.received[0]?.id, eventId);
  });

  test('rejected and undelivered events are shown, later ones are forwarded, and the exit code is 9', async (t) => {
    const answers = answerWith(500, {}, 'what the receiver says\nand more');
    // After the receiver stopped, no other server may get its port.
    const [port] = await freePorts(1);
    const to = await receiver(answers, undefined, port);
    t.after(to.stop);
    const ended = await listening([...sales, '--forward-to', to.url, '--count', '2'], async () => {
      await sell(100);
      await eventually('it was refused', () => to.received.length === 1);
      to.answer(answerWith(204));
      await sell(200);
    });
    await to.stop();
    assert.equal(ended.code, 9, ended.stderr);
    assert.match(ended.stdout, / {2}500 .*\n +what the receiver says\n.* {2}204 /);
    assert.doesNotMatch(ended.stdout, /and more/);
    assert.match(ended.stderr, /2 events: 1 accepted, 1 not accepted\./);
    const noReceiver = await listening(
      [...sales, '--forward-to', to.url, '--count', '1'],
      async () => {
        await sell();
      },
    );
    assert.equal(noReceiver.code, 9);
    assert.match(noReceiver.stdout, / {2}--- {2}.*\n +the connection was refused/);
  });

  // Spec: QRPROV-41
  test('after a connection break no event is lost or repeated', async (t) => {
    const to = await receiver();
    t.after(to.stop);
    const wire = await openCuttableConnection(setup.settings.port);
    t.after(wire.close);
    const env = { SWITCHYARD_CLI_URL: `https://localhost:${wire.port}` };
    const ids: string[] = [];
    const ended = await listening(
      [...sales, '--forward-to', to.url, '--count', '3'],
      async () => {
        ids.push(await sell(100));
        await eventually('the first is there', () => to.received.length === 1);
        wire.cut();
        ids.push(await sell(200), await sell(300));
        const before = wire.connections();
        wire.restore();
        await eventually('it came back', () => wire.connections() > before);
      },
      { env },
    );
    assert.equal(ended.code, 0, ended.stderr);
    assert.deepEqual(
      to.received.map(({ body }) => JSON.parse(body).data.transactionId),
      ids,
    );
  });

  test('--after sets the start, and Ctrl+C prints only the number of events', async () => {
    const first = await listening([...sales, '--json', '--count', '1'], async () => {
      await sell(100);
    });
    const { position } = first.json();
    const ids = [await sell(200)];
    const again = await listening(
      [...sales, '--after', String(position), '--json'],
      async (stop, readStdout) => {
        ids.push(await sell(300));
        await eventually('both are shown', () => readStdout().split('\n').length === 3);
        stop();
      },
    );
    const lines = again.stdout.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((text) => JSON.parse(text).data.transactionId),
      ids,
    );
    assert.equal(again.code, 130);
    assert.doesNotMatch(again.stderr, /error/);
    assert.match(again.stderr, /2 events\.\n$/);
  });

  test('Ctrl+C ends the process at once with 130 and no error', async () => {
    const ended = await line.run(['webhooks', 'listen', '--forward-to', 'http://127.0.0.1:1'], {
      onStarted: (child) => {
        child.stderr?.on('data', (text: string) => {
          if (text.includes('Waiting for events')) child.kill('SIGINT');
        });
      },
    });
    assert.equal(ended.code, 130, ended.stderr);
    assert.doesNotMatch(ended.stderr, /error/);
    assert.match(ended.stderr, /0 events: 0 accepted, 0 not accepted\.\n$/);
  });

  test('invalid input is reported at once, each with its exit code', async () => {
    const merchant = await signedInCommandLine(setup, 'Merchant', setup.merchant.merchantId);
    const listen = (args: string[], commandLine: Line = line, env = {}) =>
      commandLine.run(['webhooks', 'listen', ...args], { env });
    const unreachableServer = { SWITCHYARD_CLI_URL: 'https://localhost:1' };
    for (const [ended, code, message] of [
      [listen(['--events', 'transaction.nothing']), 2, /Unknown event types: transaction\.nothing/],
      [listen(['--forward-to', 'ftp://x']), 2, /is not a valid URL/],
      [listen(['--forward-to', 'http://x', '-H', 'no header']), 2, /name:value/],
      [listen(['--forward-to', 'http://x', '-H', 'a b: c']), 2, /is not a valid HTTP header/],
      [listen(['--after', 'first']), 2, /whole number/],
      [listen(['--forward-to', 'https://x', '--forward-ca-file', 'none.pem']), 2, /does not exist/],
      [listen([], merchant), 4, /permission/i],
      [listen([], line, unreachableServer), 7, /could not be reached/],
    ] as const) {
      const { code: got, stderr } = await ended;
      assert.equal(got, code, stderr);
      assert.match(stderr, message);
    }
    merchant.remove();
  });

  test('each profile has one secret, which only its owner can read', async () => {
    const secretOf = async (commandLine: Line) =>
      (await commandLine.run(['webhooks', 'listen', '--print-secret'])).stdout.trim();
    const secret = await secretOf(line);
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(await secretOf(line), secret);
    const env = { SWITCHYARD_CLI_HOME: join(line.folder, 'several') };
    const several = await Promise.all(
      [1, 2, 3].map(() =>
        line.run(['webhooks', 'listen', '--print-secret'], { env, asProcess: true }),
      ),
    );
    assert.equal(new Set(several.map(({ stdout }) => stdout)).size, 1);
    const other = await signedInCommandLine(setup);
    assert.notEqual(await secretOf(other), secret);
    other.remove();
    const secretsFolder = join(line.folder, 'home', 'webhook-secrets');
    for (const name of readdirSync(secretsFolder)) {
      assert.equal(statSync(join(secretsFolder, name)).mode & 0o777, 0o600);
    }
  });
});
