import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Kit } from '../kit.ts';
import { createPaint } from '../screen/paint.ts';
import { createTerminalWindow, lineOf } from '../screen/terminal-window.ts';
import { run } from './run.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-terminal-command-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('it says what is wrong before anything is begun', async () => {
  const nothing = await run('terminal', 'simulate', '--demo', join(folder, 'nowhere'));
  assert.equal(nothing.code, 2, nothing.stderr);
  const device = {
    ...{ tsn: 'AXIUM_DX8000-10000001', certFile: 'cert', keyFile: 'key' },
    ...{ baseDerivationKey: '00', ksn: '00' },
  };
  const facts = { baseUrl: 'https://a', deviceAuthUrl: 'https://b', devices: [device] };
  writeFileSync(join(folder, 'demo.json'), JSON.stringify(facts));
  const unknown = await run('terminal', 'simulate', '--demo', folder, '--tsn', '7');
  assert.equal(unknown.code, 5);
  assert.match(unknown.stderr, /It has: AXIUM_DX8000-10000001/);
  const card = await run('terminal', 'simulate', '--demo', folder, '--card', 'gold');
  assert.equal(card.code, 2);
  assert.match(card.stderr, /There are: mastercard, visa/);
  await assert.rejects(run('terminal', 'simulate', '--listen', 'somewhere'), /127\.0\.0\.2:8443/);
  writeFileSync(join(folder, 'demo.json'), '{');
  assert.equal((await run('terminal', 'simulate', '--demo', folder)).code, 2);
});

test('the window shows the screen of the terminal, its cards and what goes to and fro', () => {
  const written: string[] = [];
  const stdout = {
    isTTY: true,
    columns: 80,
    write: (text: string | Uint8Array) => {
      written.push(String(text));
      return true;
    },
  };
  const kit = {
    world: { stdout, clock: { now: () => 0 } },
    screen: { json: false, paint: createPaint(false), width: 80 },
  } as unknown as Kit;
  const cards = ['visa', 'tap'];
  const window = createTerminalWindow(kit, { tsn: 'A-1', cards, card: 'visa' });
  window.open({ tsn: 'A-1', url: 'https://127.0.0.2:8443/nexo' });
  window.tell({ type: 'Screen', screen: { state: 'Card', lines: ['12.50 EUR', '\u001b[2J'] } });
  window.tell({
    ...{
      type: 'Received',
      category: 'Payment',
      kind: 'Request',
      saleId: 'till\u001b',
      serviceId: '1',
    },
  });
  const last = written.at(-1) ?? '';
  assert.match(last, /│ +12\.50 EUR +│/);
  assert.ok(last.includes('\\u{1b}[2J'), 'nothing from outside steers the window');
  assert.ok(last.includes('→ Payment Request till\\u{1b} 1'));
  assert.ok(last.includes('a visa   b tap'));
  window.close();
  assert.ok(written.at(-1)?.includes('\u001b[?25h'), 'the cursor is back');
});

test('what happens has one line each', () => {
  assert.equal(lineOf({ type: 'Fault', fault: 'Reboot' }), 'fault: Reboot');
  assert.equal(
    lineOf({
      ...{ type: 'Sent', category: 'Payment', kind: 'Response', saleId: 't', serviceId: '1' },
      ...{ result: 'Failure', condition: 'Refusal' },
    }),
    '← Payment Response t 1 Refusal',
  );
  assert.equal(lineOf({ type: 'Screen', screen: { state: 'Idle', lines: [] } }), undefined);
});
