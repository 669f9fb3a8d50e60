// Whole run: commands as users start them, each a process of its own.
// The command line as a process.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ensureCertificate } from '../terminal/connections/listener-certificate.ts';
import {
  connectAndSignOn,
  connectClient,
  createTerminalRequests,
  networkMessage,
  waitUntil,
} from './iso8583-client.fixture.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));

function run(...args: string[]) {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
}

async function serve(directory: string, ...options: string[]) {
  const args = [main, 'serve', '--data', directory, '--port', '0', ...options];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = /^listening on 127\.0\.0\.1:(\d+)\n$/.exec(line.toString())?.[1];
  assert.ok(port);
  return { child, port: Number(port) };
}

async function end(child: ReturnType<typeof spawn>, signal: NodeJS.Signals) {
  const exit = once(child, 'exit');
  child.kill(signal);
  return (await exit) as [number | null, string | null];
}

describe('acquirer-host on the command line', () => {
  it('prints its help and refuses wrong commands and options', () => {
    const help = run('--help');
    assert.equal(help.status, 0);
    assert.match(help.stdout, /acquirer-host serve --data DIR/);
    const wrong: [string[], RegExp][] = [
      [[], /use one of the commands serve, ledger/],
      [['serve', '--data', 'x', '--dialect', 'nothing'], /neither built in nor a file/],
      [['dialect', 'iso1987-binary'], /unexpected: iso1987-binary/],
      [['serve', '--data', 'x', '--mac-key', '00'], /--mac-key must be tdes:HEX or aes:HEX/],
      [['serve', '--data', 'x', '--keys', main], /--keys: .* cannot be read as JSON/],
      [['serve', '--data', 'x', '--tls-cert', main], /TLS needs both --tls-cert and --tls-key/],
      [['serve', '--data', 'x', '--tls-cert', main, '--tls-key', main], /no PEM certificate/],
      [
        ['serve', '--data', 'x', '--tls-cert', 'x', '--tls-key', 'x'],
        /--tls-cert: x cannot be read/,
      ],
      [['serve'], /--data is missing/],
      [['serve', '--data', 'x', '--port', '70000'], /--port must be a whole number/],
      [['serve', '--data', 'x', '--over-capture', '101'], /--over-capture must be a whole number/],
      [['ledger', '--data', 'x', '--colour'], /--colour/],
      [['ledger', 'extra', '--data', 'x'], /unexpected: extra/],
    ];
    for (const [args, says] of wrong) {
      const { status, stderr } = run(...args);
      assert.equal(status, 2);
      assert.match(stderr, says);
    }
  });

  it('stores approved sales before a kill, and prints them in the ledger afterwards', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'acquirer-host-'));
    const first = await serve(directory);
    const client = await connectAndSignOn(first.port);
    const till = createTerminalRequests();
    assert.equal((await client.sendAndWait(till.sale(1234))).fields[39], '00');
    await end(first.child, 'SIGKILL');
    await client.close();

    const second = await serve(directory);
    const again = await connectAndSignOn(second.port);
    assert.equal((await again.sendAndWait(till.sale(766))).fields[39], '00');
    assert.deepEqual(await end(second.child, 'SIGTERM'), [0, null]);
    await again.close();

    const table = run('ledger', '--data', directory);
    assert.equal(table.status, 0);
    assert.match(table.stdout, /MERCHANT0000001 .* 20\.00 EUR/);
    const json = run('ledger', '--data', directory, '--json');
    const { totals, movements } = JSON.parse(json.stdout);
    assert.equal(totals[0].captured, 2000);
    assert.deepEqual(
      movements.map(({ kind, amount }: { kind: string; amount: number }) => [kind, amount]),
      [
        ['sale', 1234],
        ['sale', 766],
      ],
    );
    rmSync(directory, { recursive: true });
  });

  it('approves captures above the hold up to --over-capture, after --answer-ms', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'acquirer-host-over-capture-'));
    const { child, port } = await serve(directory, '--over-capture', '20', '--answer-ms', '150');
    const client = await connectAndSignOn(port);
    const till = createTerminalRequests();
    const authorization = till.hold(1000);
    const sentAt = performance.now();
    assert.equal((await client.sendAndWait(authorization)).fields[39], '00');
    assert.ok(performance.now() - sentAt >= 149, 'the answer is delayed');
    for (const [amount, code] of [
      [1201, '61'],
      [1200, '00'],
      [1, '61'],
    ] as const)
      assert.equal(
        (await client.sendAndWait(till.capture(authorization, amount))).fields[39],
        code,
      );
    assert.equal((await client.sendAndWait(till.refund(authorization, 1200))).fields[39], '00');
    await client.close();
    assert.deepEqual(await end(child, 'SIGTERM'), [0, null]);
    const { totals, faults } = JSON.parse(run('ledger', '--data', directory, '--json').stdout);
    const [{ captured, refunded, openHolds, reversed }] = totals;
    assert.deepEqual([captured, refunded, openHolds, reversed, faults], [1200, 1200, 0, 0, []]);
    rmSync(directory, { recursive: true });
  });

  it('requires TLS, and the client certificate of an authority that it trusts', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'acquirer-host-tls-'));
    const makeCertificate = (name: string) =>
      ensureCertificate(join(directory, name), [name], Date.now());
    const host = makeCertificate('localhost');
    const client = makeCertificate('platform');
    const other = makeCertificate('other');
    const { child, port } = await serve(
      join(directory, 'ledger'),
      `--tls-cert=${host.certFile}`,
      `--tls-key=${join(directory, 'localhost', 'local-key.pem')}`,
      `--tls-client-ca=${client.certFile}`,
    );
    for (const tls of [
      undefined,
      { ca: host.cert },
      { ca: host.cert, cert: other.cert, key: other.key },
    ]) {
      const refused = await connectClient(port, tls);
      refused.send(networkMessage('001'));
      await waitUntil(() => refused.closed, 'the host to close the connection');
      assert.deepEqual(refused.answers, []);
    }
    const { cert, key } = client;
    const accepted = await connectAndSignOn(port, { ca: host.cert, cert, key });
    const sale = await accepted.sendAndWait(createTerminalRequests().sale(1234));
    assert.equal(sale.fields[39], '00');
    await accepted.close();
    assert.deepEqual(await end(child, 'SIGTERM'), [0, null]);
    rmSync(directory, { recursive: true });
  });
});
