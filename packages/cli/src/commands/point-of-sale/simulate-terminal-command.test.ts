import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { run } from '../../command-line/run-command.fixture.ts';
import { createPaint } from '../../output/colours.ts';
import { createTerminalWindow, formatEvent } from './terminal-window.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-terminal-command-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('invalid options are reported before the terminal starts', async () => {
  const nothing = await run('terminal', 'simulate', '--demo', join(folder, 'nowhere'));
  assert.equal(nothing.code, 2, nothing.stderr);
  const device = {
    tsn: 'AXIUM_DX8000-10000001',
    certFile: 'cert',
    keyFile: 'key',
    baseDerivationKey: '00',
    ksn: '00',
  };
  const facts = { baseUrl: 'https://a', deviceAuthUrl: 'https://b', devices: [device] };
  writeFileSync(join(folder, 'demo.json'), JSON.stringify(facts));
  const unknown = await run('terminal', 'simulate', '--demo', folder, '--tsn', '7');
  assert.equal(unknown.code, 5);
  assert.match(unknown.stderr, /It has: AXIUM_DX8000-10000001/);
  const card = await run('terminal', 'simulate', '--demo', folder, '--card', 'gold');
  assert.equal(card.code, 2);
  assert.match(card.stderr, /There are: mastercard, visa/);
  const address = await run('terminal', 'simulate', '--listen', 'somewhere');
  assert.equal(address.code, 2);
  assert.match(address.stderr, /127\.0\.0\.2:8443/);
  writeFileSync(join(folder, 'demo.json'), '{');
  assert.equal((await run('terminal', 'simulate', '--demo', folder)).code, 2);
});

const cards = ['visa', 'tap', 'wrong-pin-once'];

function windowOf(size: { columns: number; rows: number }) {
  const written: string[] = [];
  const listeners = new Set<() => void>();
  const stdout = {
    isTTY: true,
    ...size,
    on: (_event: string, listener: () => void) => listeners.add(listener),
    off: (_event: string, listener: () => void) => listeners.delete(listener),
    write: (text: string | Uint8Array) => {
      written.push(String(text));
      return true;
    },
  };
  const context = {
    environment: { stdout, clock: { now: () => 0 } },
    output: { json: false, paint: createPaint(false), width: size.columns },
  } as unknown as CommandContext;
  const window = createTerminalWindow(context, { tsn: 'A-1', cards, card: 'visa' });
  /** The lines that stand there now. */
  const lines = () =>
    (written.at(-1) ?? '')
      .replaceAll('\u001b[H', '')
      .replaceAll('\u001b[K', '')
      .replaceAll('\u001b[J', '')
      .split('\r\n');
  return { window, stdout, listeners, lines, written };
}

test('the window shows the screen, the cards and the messages of the terminal', () => {
  const { window, lines, written } = windowOf({ columns: 80, rows: 24 });
  window.open({ tsn: 'A-1', url: 'https://127.0.0.2:8443/nexo' });
  window.onEvent({ type: 'Screen', screen: { state: 'Card', lines: ['12.50 EUR', '\u001b[2J'] } });
  const till = { saleId: 'till\u001b', serviceId: '1' };
  window.onEvent({ type: 'Received', category: 'Login', kind: 'Request', ...till });
  window.onEvent({ type: 'Sent', category: 'Display', kind: 'Request', ...till });
  window.cloud('Waiting', 'unreachable');
  window.fault('Delay');
  window.remark('no paper', true);
  const text = lines().join('\n');
  assert.match(text, /│ +12\.50 EUR +│/);
  assert.ok(text.includes('\\u{1b}[2J'), 'nothing from outside steers the window');
  assert.ok(text.includes('→ Login Request till\\u{1b} 1'));
  assert.doesNotMatch(text, /Display/, 'display messages are on the screen already');
  assert.match(text, /▸a visa/);
  assert.match(text, /cloud Waiting \(unreachable\) +https:\/\/127\.0\.0\.2:8443\/nexo +no paper/);
  assert.match(text, /▸3 late/);
  window.card('tap');
  window.remark('no paper', false);
  window.onEvent({ type: 'Received', category: 'Payment', kind: 'Request', ...till });
  assert.match(lines().join('\n'), /▸b tap/);
  assert.doesNotMatch(lines().join('\n'), /▸3 late|no paper/, 'the fault is of this payment');
  window.toggleReceipt();
  assert.match(lines().join('\n'), /No receipt was printed yet/);
  window.onEvent({ type: 'Printed', lines: ['SALE 12.50 EUR'] });
  assert.match(lines().join('\n'), /SALE 12\.50 EUR/);
  assert.doesNotMatch(lines().join('\n'), /→ Login/);
  window.close();
  assert.ok(written.at(-1)?.includes('\u001b[?25h'), 'the cursor is back');
});

test('the layout fits every window size and follows a resize', () => {
  const { window, stdout, listeners, lines } = windowOf({ columns: 80, rows: 24 });
  window.open({ tsn: 'AXIUM_DX8000-10000001', url: 'https://127.0.0.2:8443/nexo' });
  const screen = { state: 'Approved', lines: ['12.50 EUR', 'Approved'] } as const;
  for (let at = 0; at < 40; at += 1)
    window.note(`a line that is longer than a narrow window ${at}`);
  window.onEvent({ type: 'Screen', screen });
  for (const [columns, rows] of [
    [80, 24],
    [40, 30],
    [40, 18],
    [20, 8],
    [200, 60],
  ] as const) {
    Object.assign(stdout, { columns, rows });
    for (const listener of listeners) listener();
    assert.ok(lines().length <= rows, `${lines().length} lines in ${rows}`);
    for (const line of lines()) assert.ok([...line].length <= columns, `${columns}: ${line}`);
    assert.ok(lines().some((line) => line.includes('│') && line.includes('12.50 EUR')));
    if (rows > 20) assert.match(lines().at(-1) ?? '', /a line that/);
  }
  window.close();
  assert.equal(listeners.size, 0);
});

test('the window shows the claim code until the terminal is connected', () => {
  const { window, lines } = windowOf({ columns: 80, rows: 24 });
  window.open({ tsn: 'A-1' });
  window.claimCode('K7QM-2F9X');
  window.cloud('Waiting', 'device_not_claimed');
  const head = () => lines().slice(0, 3).join(' ');
  assert.match(head(), /device_not_claimed.* claim code K7QM-2F9X/);
  window.cloud('Registering');
  assert.match(head(), /claim code K7QM-2F9X/, 'it stays while the terminal tries again');
  window.claimCode('AAAA-AAAA');
  assert.match(head(), /claim code AAAA-AAAA/);
  window.cloud('Connected');
  assert.doesNotMatch(head(), /claim code/);
  assert.match(lines().join(' '), /claim code: AAAA-AAAA/);
  window.close();
});

test('each event has one log line', () => {
  assert.equal(formatEvent({ type: 'Fault', fault: 'Reboot' }), 'fault: Reboot');
  assert.equal(
    formatEvent({
      type: 'Sent',
      category: 'Payment',
      kind: 'Response',
      saleId: 't',
      serviceId: '1',
      result: 'Failure',
      condition: 'Refusal',
    }),
    '← Payment Response t 1 Refusal',
  );
  assert.equal(formatEvent({ type: 'Screen', screen: { state: 'Idle', lines: [] } }), undefined);
});
