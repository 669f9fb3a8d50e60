import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createApplication } from '../../src/application.ts';
import { createLog, openDatabase, readSettings } from '../../src/platform/index.ts';
import { eventually } from '../support/wait-for-condition.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'switchyard-load-'));
const log = createLog({ logLevel: 'silent', instanceName: 'load' });
const database = openDatabase({ url: 'postgresql://nobody@127.0.0.1:1/none', log });
after(async () => {
  await database.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function underLoad(loopDelayMs: number, use: (pressure: () => number) => Promise<void>) {
  const settings = readSettings({
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_TLS: 'off',
    SWITCHYARD_TRUST_PROXY: '127.0.0.1',
    SWITCHYARD_OVERLOAD_EVENT_LOOP_LAG_MS: String(loopDelayMs),
  });
  const application = await createApplication({ settings, database, log });
  try {
    await use(application.http.loadShedding.pressure);
  } finally {
    await application.stop();
  }
}

/** Blocks the event loop for longer than two measurements of its delay. */
function occupy(): void {
  for (const end = performance.now() + 150; performance.now() < end; );
}

test('a setting is the event loop delay at which sales are refused', async () => {
  await underLoad(50, (pressure) =>
    eventually('sales are refused', () => {
      occupy();
      return pressure() >= 1;
    }),
  );
  await underLoad(60_000, async (pressure) => {
    for (let requestNumber = 0; requestNumber < 5; requestNumber += 1) {
      occupy();
      await new Promise((resolve) => setTimeout(resolve, 1));
      assert.ok(pressure() < 0.4, 'not even reports');
    }
  });
});
