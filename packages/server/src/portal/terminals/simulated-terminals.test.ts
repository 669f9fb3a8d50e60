// A terminal that fails or stops never takes the place of the next terminal of its device.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createLog } from '../../platform/index.ts';
import type { SimulatedTerminal } from './simulated-terminal-port.ts';
import { createSimulatedTerminals } from './simulated-terminals.ts';

const device = { organizationId: 'o', physicalDeviceId: 'd', tsn: 'T-1' };
const stopDelayMs = 5000;
const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const live = { publish() {} };
const settled = () => new Promise((resolve) => setImmediate(resolve));

function createTerminal(stop: () => Promise<void> = async () => {}) {
  const inputs: unknown[] = [];
  const terminal: SimulatedTerminal = {
    view: () => ({ tsn: device.tsn, cards: [], connection: 'Online' }),
    input: (input) => inputs.push(input),
    connect() {},
    disconnect() {},
    stop,
  };
  return { terminal, inputs };
}

test('a page that reconnects after a failed start keeps its new terminal', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { terminal, inputs } = createTerminal();
    let starts = 0;
    const terminals = createSimulatedTerminals({
      log,
      live,
      async start() {
        starts += 1;
        if (starts === 1) throw new Error('no certificate');
        return terminal;
      },
    });
    const failed = terminals.enter(device, 'page');
    await assert.rejects(async () => failed.source.read(0), /no certificate/);
    failed.leave();
    terminals.enter(device, 'page');
    mock.timers.tick(stopDelayMs);
    await terminals.act(device, 'page', { type: 'Cancel' });
    assert.deepEqual([starts, inputs], [2, [{ type: 'Cancel' }]]);
  } finally {
    mock.timers.reset();
  }
});

test('the next terminal of a device starts after the former one has stopped', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    let finishStop = () => {};
    const stopped = new Promise<void>((resolve) => {
      finishStop = resolve;
    });
    let starts = 0;
    const terminals = createSimulatedTerminals({
      log,
      live,
      async start() {
        starts += 1;
        return createTerminal(() => stopped).terminal;
      },
    });
    const first = terminals.enter(device, 'page');
    await first.source.read(0);
    first.leave();
    mock.timers.tick(stopDelayMs);
    await settled();
    const second = terminals.enter(device, 'page');
    await settled();
    assert.equal(starts, 1);
    finishStop();
    await second.source.read(0);
    assert.equal(starts, 2);
  } finally {
    mock.timers.reset();
  }
});
