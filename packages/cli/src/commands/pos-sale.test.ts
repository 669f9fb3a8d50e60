import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { run } from './run.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-pos-sale-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a sale says what is wrong before anything is begun, and whether money moved', async () => {
  const nowhere = await run('pos', 'sale', '12.50', '--demo', join(folder, 'nowhere'));
  assert.equal(nowhere.code, 2, nowhere.stderr);
  const half = await run('pos', 'sale', '12.505', '--demo', folder);
  assert.equal(half.code, 2);
  assert.match(half.stderr, /12\.505 is no amount of EUR/);
  writeFileSync(join(folder, 'ca.pem'), '');
  const facts = {
    ...{ baseUrl: 'http://127.0.0.1:1', authUrl: 'http://127.0.0.1:1', userDomainId: 'demo' },
    caFile: join(folder, 'ca.pem'),
    applications: { pos: { clientId: 'a', clientSecret: 's3cr3t', storeId: '1' } },
    devices: [{ tsn: 'AXIUM_DX8000-10000001', storeId: '1' }],
  };
  writeFileSync(join(folder, 'demo.json'), JSON.stringify(facts));
  const away = await run('pos', 'sale', '12.50', '--demo', folder);
  assert.equal(away.code, 7, away.stderr);
  assert.match(away.stderr, /Transport: .*\n.*No money moved/);
  assert.doesNotMatch(away.stderr, /s3cr3t/);
  writeFileSync(join(folder, 'demo.json'), JSON.stringify({ ...facts, devices: [] }));
  assert.equal((await run('pos', 'sale', '12.50', '--demo', folder)).code, 5);
});
