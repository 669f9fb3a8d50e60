// A port in use is reported with its setting.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { freePorts } from '../../../test/support/free-ports.ts';
import { readSettings } from '../settings/settings.ts';
import { explainPortInUse, requireFreePorts } from './listen-ports.ts';

const settings = { port: 8443, devicePort: 9021, metricsPort: 9464 };
const portInUse = (port: number) =>
  Object.assign(new Error(`listen EADDRINUSE 127.0.0.1:${port}`), { code: 'EADDRINUSE', port });

test('a port in use is reported with its setting', () => {
  for (const [port, name] of [
    [8443, 'SWITCHYARD_PORT'],
    [9021, 'SWITCHYARD_DEVICE_PORT'],
    [9464, 'SWITCHYARD_METRICS_PORT'],
  ] as const) {
    assert.deepEqual(
      (explainPortInUse(portInUse(port), settings) as Error).message,
      `Port ${port} is in use by another program. Stop that program, or set ${name} to a free port.`,
    );
  }
});

test('another error stays unchanged', () => {
  const fault = new Error('no room');
  assert.equal(explainPortInUse(fault, settings), fault);
  assert.equal(explainPortInUse(undefined, settings), undefined);
});

/** Connects again and again, in a thread, and keeps its connections open; reports each one. */
const clientThread = `
  const { connect } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  function connectAgain() {
    const socket = connect(workerData, '127.0.0.1');
    socket.on('connect', () => parentPort.postMessage('connected'));
    socket.on('error', () => {});
    socket.on('close', connectAgain);
  }
  connectAgain();
`;

test('a client that connects during the check does not stop the start', async () => {
  const [port = 0, devicePort = 0, metricsPort = 0] = await freePorts(3);
  const settings = { ...readSettings({}), host: 'localhost', port, devicePort, metricsPort };
  const end = Date.now() + 20_000;
  let connected = 0;
  const client = new Worker(clientThread, { eval: true, workerData: port });
  client.on('message', () => {
    connected += 1;
  });
  try {
    while (connected < 3 && Date.now() < end) {
      await requireFreePorts({ ...settings, acquirerPort: 0 });
    }
  } finally {
    await client.terminate();
  }
  assert.ok(connected >= 3, `${connected} connections within the time`);
});
