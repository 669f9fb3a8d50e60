// Whole run: commands as users start them, each a process of its own.
// Runs the commands of the README, of the first payment, and of the pages for points of sale and terminals at a running platform.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  createDemoServer,
  type DemoServer,
} from '../../packages/server/test/support/processes/demo-server.ts';
import type { ServerProcess } from '../../packages/server/test/support/processes/server-process.ts';
import { eventually } from '../../packages/server/test/support/wait-for-condition.ts';
import { readLedger } from '../../packages/simulators/src/index.ts';
import { namedBlock, runShell, shellBlocks, shellEnvironment } from './shell-blocks.ts';
import {
  type Json,
  type ProcessResult,
  type RunningProcess,
  runSwitchyard,
  startProcess,
  waitUntilOnline,
} from './terminal-and-pos-processes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const limitMs = 150_000;

// Spec: NEXO-59
describe('the README with a running platform', { concurrency: false, timeout: 300_000 }, () => {
  let demo: DemoServer | undefined;
  let directory: string;
  let server: ServerProcess;
  let readme: string;
  let firstPayment: string;
  let tillAndTerminal: string;
  let env: Record<string, string>;

  before(async () => {
    const pages = [
      'README.md',
      'docs/tutorials/first-payment.md',
      'docs/tutorials/connect-a-till-to-a-terminal.md',
    ];
    [readme = '', firstPayment = '', tillAndTerminal = ''] = await Promise.all(
      pages.map((page) => readFile(join(root, page), 'utf8')),
    );
    demo = await createDemoServer('readme', {}, { isFromSource: true });
    ({ directory, server } = demo);
    env = shellEnvironment(directory, { SWITCHYARD_DATA_DIR: demo.dataDir });
    await server.start();
  });
  after(() => demo?.close());

  /** A transaction as the merchant of the demo reads it. */
  async function transactionOf(id: string): Promise<Json> {
    const client = await server.client();
    const { userDomainId, applications } = await server.demoFacts();
    const { clientId = '', clientSecret = '' } = applications['merchant'] ?? {};
    const token = await client.token(userDomainId, clientId, clientSecret);
    return (await client.call('GET', `/payment/v1/transactions/${id}`, { token })).body;
  }

  test('every command of the first payment has the output that the page shows', async () => {
    const blocks = shellBlocks(firstPayment, 'Take the first payment');
    assert.ok(blocks.length >= 8, 'the page has its commands');
    const stdout = await runShell(blocks, root, env);
    const states = [...stdout.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state);
    for (const state of ['Captured', 'Authorized', 'PartiallyCaptured', 'PartiallyRefunded']) {
      assert.ok(states.includes(state), `${state} in ${stdout}`);
    }
    assert.match(stdout, /"code":"AD","display":"Andorra"/);
    assert.match(stdout, /^Captured true$/m, 'the sale from Node.js is repeated');
    assert.match(stdout, /transaction\.captured/);
    assert.match(stdout, /"type":"qr\.completed"[^\n]*"isFinal":true/);
    const eventTypes = [...stdout.matchAll(/^[0-9:.]{12} +(qr\.\w+) .*#\d+$/gm)].map(
      ([, type]) => type,
    );
    const expected = ['qr.pending', 'qr.scanned', 'qr.completed'];
    assert.deepEqual(eventTypes, expected, stdout.slice(-2000));
    assert.match(stdout, /72\.50 EUR +25\.00 EUR +47\.50 EUR/);
  });

  // Spec: NEXO-51
  test('the README takes a first sale in one paste', async () => {
    const [paste = ''] = shellBlocks(readme, 'A first sale');
    const { stdout } = await promisify(execFile)('bash', ['-c', `set -euo pipefail\n${paste}`], {
      cwd: root,
      timeout: limitMs,
      env,
    });
    const { state, approved, amount } = JSON.parse(stdout);
    assert.deepEqual([state, approved, amount], ['Captured', true, 1250]);
  });

  test('the two commands of the tutorial start a terminal and a point of sale, and 12.50 are paid', async () => {
    const [simulate, sell] = ['terminal', 'till'].map((name) =>
      namedBlock(tillAndTerminal, name).trim(),
    );
    assert.equal(simulate, 'npx switchyard terminal simulate');
    assert.equal(sell, 'npx switchyard pos sale 12.50');
    // As they stand there; a shell hands signals to what it becomes.
    const terminal = startProcess('bash', ['-c', `exec ${simulate}`], env);
    try {
      await eventually('the terminal is online', () => {
        if (terminal.child.exitCode !== null) throw new Error(terminal.stderr());
        return terminal.stdout().includes('cloud: Connected');
      });
      const till = startProcess('bash', ['-c', `exec ${sell}`], env);
      assert.equal(await till.ended(), 0, till.stdout() + till.stderr());
      const [, amount] = /^Paid (12\.50 EUR)\.$/m.exec(till.stdout()) ?? [];
      assert.equal(amount, '12.50 EUR', till.stdout());
      const [, id = ''] = /^Transaction +(\S+)$/m.exec(till.stdout()) ?? [];
      const { state, capturedAmount, entryMode } = await transactionOf(id);
      assert.deepEqual([state, capturedAmount, entryMode], ['Captured', 1250, 'ContactChip']);
      for (const line of ['Insert, tap or swipe', 'PIN', 'Approved']) {
        assert.ok(till.stderr().includes(line), `${line} in ${till.stderr()}`);
      }
    } finally {
      terminal.interrupt();
      await terminal.ended();
    }
    assert.match(terminal.stderr(), /The terminal has stopped/);
  });

  /** The amount that the acquirer's host has captured, in minor units. */
  function captured(): number {
    const { totals } = readLedger(join(directory, 'data', 'acquirer'));
    return totals.reduce((sum, each) => sum + each.captured, 0);
  }

  describe('a point of sale on the command line', { concurrency: false }, () => {
    let terminal: RunningProcess;
    const serial = '10000001';

    function simulate(): RunningProcess {
      const listenOptions = ['--listen', '127.0.0.1:0', '--tsn', serial];
      return runSwitchyard(['--json', 'terminal', 'simulate', ...listenOptions], env);
    }
    before(async () => {
      terminal = simulate();
      await waitUntilOnline(terminal);
    });
    after(async () => {
      terminal?.interrupt();
      await terminal?.ended();
    });

    const till = (...args: string[]) => runSwitchyard(['pos', ...args], env);
    async function endOf(running: RunningProcess): Promise<ProcessResult> {
      const code = await running.ended();
      return { code, stdout: running.stdout(), stderr: running.stderr() };
    }
    const sell = (...args: string[]) => endOf(till('sale', ...args));

    /** Waits for new output of the terminal that matches. */
    async function waitForTerminalOutput(
      matches: (result: Json) => boolean,
      work: () => void,
    ): Promise<Json> {
      const before = terminal.jsonOutput().length;
      work();
      let match: Json | undefined;
      await eventually('the terminal tells it', () => {
        match = terminal.jsonOutput().slice(before).find(matches);
        return match !== undefined;
      });
      return match ?? {};
    }
    const waitsForCard = ({ type, screen }: Json) => type === 'Screen' && screen.state === 'Card';

    test('a payment prints one JSON document', async () => {
      const before = captured();
      const { code, stdout, stderr } = await sell('7.10', '--json', '--receipt');
      assert.equal(code, 0, stderr);
      const { transactionId, serviceId, approvalCode, receipt, ...result } = JSON.parse(stdout);
      assert.deepEqual(result, {
        result: 'Success',
        authorizedAmount: 710,
        currency: 'EUR',
        brand: 'Mastercard',
        maskedNumber: result.maskedNumber,
        entryMode: 'ICC',
        verification: 'OnlinePIN',
      });
      assert.match(result.maskedNumber, /^\d{6}\*+\d{4}$/);
      assert.ok(transactionId && serviceId && approvalCode);
      assert.ok(receipt.some((line: string) => line.includes('7.10')));
      assert.equal(captured() - before, 710);
    });

    test('a decline of the issuer or the chip takes no money, and has its exit code', async () => {
      const before = captured();
      const issuer = await sell('90.51');
      assert.equal(issuer.code, 6, issuer.stderr);
      assert.match(issuer.stdout, /^Not paid: Refusal\. Insufficient funds\.$/m);
      const chip = await sell('80.07', '--json');
      assert.equal(chip.code, 6);
      const { result, condition, advice, authorizedAmount } = JSON.parse(chip.stdout);
      assert.deepEqual(
        [result, condition, advice, authorizedAmount],
        ['Failure', 'Refusal', 'Never', undefined],
      );
      assert.equal(captured(), before);
    });

    test('after a broken connection the point of sale finds the result, and the customer is charged once', async () => {
      const before = captured();
      const { code, stdout, stderr } = await sell('80.12');
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Paid 80\.12 EUR\.$/m);
      assert.equal(captured() - before, 8012);
      const received = terminal.jsonOutput().filter(({ type }) => type === 'Received');
      assert.equal(received.at(-1)?.['category'], 'TransactionStatus');
    });

    test('a payment without a response is queried in time, and a late response is ignored', async () => {
      const before = captured();
      const { code, stdout, stderr } = await sell('80.13', '--answer-timeout', '1');
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^Paid 80\.13 EUR\.$/m);
      assert.equal(captured() - before, 8013);
    });

    test('Ctrl+C sends an abort to the terminal, and waits for its response', async () => {
      let running: RunningProcess | undefined;
      await waitForTerminalOutput(waitsForCard, () => {
        running = till('sale', '80.03');
      });
      assert.ok(running);
      const { interrupt } = running;
      await waitForTerminalOutput(
        ({ type, category }) => type === 'Received' && category === 'Abort',
        interrupt,
      );
      const { code, stdout, stderr } = await endOf(running);
      assert.equal(code, 130, stderr);
      assert.match(stdout, /^Not paid: Aborted\. The request was aborted\.$/m);
      assert.match(stderr, /Aborting/);
    });

    test('after a power failure of the terminal the point of sale reports that no money was taken', async () => {
      const before = captured();
      let running: RunningProcess | undefined;
      await waitForTerminalOutput(waitsForCard, () => {
        running = till('sale', '80.03');
      });
      await terminal.kill();
      terminal = simulate();
      assert.ok(running);
      const { code, stdout, stderr } = await endOf(running);
      assert.equal(code, 6, stderr);
      assert.match(stdout, /^Not paid: Aborted\. The terminal restarted; nothing was taken\.$/m);
      assert.equal(captured(), before);
    });

    // Spec: NEXO-58
    test('a restarted point of sale requests the result of the last payment first, and does not charge twice', async () => {
      await waitUntilOnline(terminal);
      const before = captured();
      let running: RunningProcess | undefined;
      const isPaid = ({ type, amount }: Json) => type === 'Payment' && amount === 8013;
      await waitForTerminalOutput(isPaid, () => {
        running = till('sale', '80.13');
      });
      await running?.kill();
      const next = await sell('5.00', '--json');
      assert.equal(next.code, 11, next.stderr);
      const { result, earlier } = JSON.parse(next.stdout);
      assert.equal(result, 'NotAsked');
      assert.deepEqual(
        earlier.map(({ outcome, facts }: Json) => [outcome, facts.authorizedAmount]),
        [['Paid', 8013]],
      );
      assert.match(next.stderr, /was paid: 80\.13 EUR/);
      assert.equal(captured() - before, 8013);
      const nothing = await endOf(till('recover'));
      assert.equal(nothing.code, 0, nothing.stderr);
      assert.match(nothing.stdout, /^No payment is open in \S+\.jsonl\.$/m);
      assert.equal((await sell('5.00')).code, 0);
      assert.equal(captured() - before, 8513);
    });

    test('payments work over the local network, and a terminal of another store is refused', async () => {
      const { url, certFile } = terminal.jsonOutput().find(({ type }) => type === 'Started') ?? {};
      const local = await sell('3.00', '--local', url, '--local-ca', certFile);
      assert.equal(local.code, 0, local.stderr);
      assert.match(local.stderr, /over the local network/);
      const nowhere = await sell('3.00', '--tsn', 'AXIUM_DX8000-99999999');
      assert.equal(nowhere.code, 6);
      assert.match(nowhere.stderr, /Connector: device_unknown.*\n.*No money moved/);
      const shut = await sell('3.00', '--local', 'https://127.0.0.1:1/nexo', '--json');
      assert.equal(shut.code, 7, shut.stderr);
      assert.equal(
        JSON.parse(shut.stderr.slice(shut.stderr.indexOf('{'))).error.outcome,
        'NotProcessed',
      );
    });

    const jsBlocks = (text: string): string[] =>
      [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

    /** A page's pieces of JavaScript, in their order: one program, in a folder that has the packages. */
    async function programOf(
      page: string,
      change: (text: string) => string,
      before: readonly string[] = [],
    ): Promise<string> {
      const text = await readFile(join(root, 'docs', `${page}.md`), 'utf8');
      const folder = join(directory, page);
      const scope = join(folder, 'node_modules/@switchyard');
      await mkdir(scope, { recursive: true });
      for (const name of ['sdk-pos', 'sdk-device']) {
        await symlink(join(root, 'packages', name), join(scope, name));
      }
      const pieces = [...before, ...jsBlocks(text)];
      await writeFile(join(folder, 'program.mjs'), change(pieces.join('\n')));
      const [, properties = ''] = /^```properties\n([\s\S]*?)^```$/m.exec(text) ?? [];
      await writeFile(join(folder, 'terminal.properties'), change(properties));
      return folder;
    }

    const runIn = (cwd: string) =>
      promisify(execFile)(process.execPath, ['program.mjs'], { cwd, env, timeout: limitMs });

    test('the example program of the page Build a till runs unchanged except for its address', async () => {
      const { url } = terminal.jsonOutput().find(({ type }) => type === 'Started') ?? {};
      const folder = await programOf('tutorials/build-a-till', (text) =>
        text.replace('https://127.0.0.2:8443/nexo', url),
      );
      const { stdout, stderr } = await runIn(folder);
      assert.equal(stdout.match(/^paid: 1250$/gm)?.length, 4, stdout + stderr);
      assert.match(stdout, /online: true/);
      assert.match(stdout, /^the terminal is OK$/m);
      assert.match(stdout, /^shows: 12\.50 EUR Insert, tap or swipe$/m);
      assert.match(stdout, /^refund: Success $/m);
      assert.match(stdout, /^undone: Success 12\.5$/m);
    });

    test('the example program of the page Print a receipt prints both copies, and a duplicate', async () => {
      const till = await readFile(join(root, 'docs/tutorials/build-a-till.md'), 'utf8');
      const [connect = '', sale = ''] = jsBlocks(till);
      const folder = await programOf(
        'how-to/merchant-developers/print-a-receipt',
        (text) => `${text}\nawait terminal.close();\nclient.close();\nsettings.store.close();`,
        [connect, sale],
      );
      const { stdout, stderr } = await runIn(folder);
      const titles = [...stdout.matchAll(/^--- (\w+)$/gm)].map(([, title]) => title);
      const expected = ['CashierReceipt', 'CustomerReceipt', 'CustomerReceipt'];
      assert.deepEqual(titles, expected, stdout + stderr);
      assert.match(stdout, /^Sale +12\.50 EUR$/m);
      assert.match(stdout, /--- CustomerReceipt\n +\*{3} DUPLICATE \*{3}/);
    });

    test('the example program of the page Write a device application runs with the demo address and credentials', async () => {
      const facts = (await server.demoFacts()) as Json;
      const [, { certFile, keyFile }] = facts['devices'];
      const { clientId, clientSecret } = facts['applications'].cloud;
      const identity = join(directory, 'device.pem');
      await writeFile(
        identity,
        (await readFile(certFile, 'utf8')) + (await readFile(keyFile, 'utf8')),
      );
      const folder = await programOf('how-to/terminal-vendors/write-a-device-application', (text) =>
        text
          .replace('wss://pay.example', String(facts['baseUrl']).replace('https', 'wss'))
          .replace('/etc/terminal/device.pem', identity)
          .replace('acme-device', clientId)
          .replace('"…"', JSON.stringify(clientSecret)),
      );
      const { stdout, stderr } = await runIn(folder);
      for (const output of [
        /^Connected $/m,
        /^Captured 12\.50 EUR$/m,
        /^shows image\/png$/m,
        /^paid by QR$/m,
        /^Offline DeviceStandalone$/m,
        /^Stored /m,
        /^waits: undefined$/m,
        /^Stopped $/m,
      ]) {
        assert.match(stdout, output, stderr);
      }
    });
  });
});
