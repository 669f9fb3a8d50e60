// Whole run: much is made, or waited for, before it shows.
// A shutdown while tills wait for terminals: each till gets an error at once, and no message is
// sent any more.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import { WebSocket } from 'ws';
import { bearerHeaders } from '../support/bearer-headers.ts';
import { type Client, createClient } from '../support/https-client.ts';
import { createDemoServer } from '../support/processes/demo-server.ts';
import type { ServerProcess } from '../support/processes/server-process.ts';
import { type Line, lineOf } from './test-connector.ts';
import { paymentOf } from './test-retail-api.ts';

/** How long a till may wait for an offline terminal; the shutdown does not wait for it. */
const waitSeconds = 30;

/** One till waits for the response of a terminal, another waits for an offline terminal. */
async function heldTerminals(server: ServerProcess, client: Client) {
  const { baseUrl, caFile, devices, applications, userDomainId } = await server.demoFacts();
  const [here, away] = devices;
  const cloud = applications['cloud'];
  assert.ok(here && away && cloud);
  const ca = await readFile(caFile, 'utf8');
  const { clientId, clientSecret } = cloud;
  const token = await client.token(userDomainId, clientId, clientSecret);
  async function open(path: string, bearer?: string): Promise<Line> {
    const headers = bearerHeaders(bearer);
    const socket = new WebSocket(`${baseUrl.replace(/^http/, 'ws')}${path}`, { ca, headers });
    const line = lineOf(socket);
    await once(socket, 'open');
    return line;
  }
  const listener = await open(connectorPaths.deviceListener);
  const credentials = { client_id: clientId, client_secret: clientSecret };
  listener.send({ type: 'register', tsn: here.tsn, ...credentials });
  const registered = await listener.next();
  const device = await open(new URL(registered['connectionUrl']).pathname, registered['token']);
  const pos = await open(connectorPaths.posListener, token);
  const send = ({ tsn }: { tsn: string }) =>
    client.call('POST', `/retail/v1/devices/${tsn}/sync?posId=p1&waitSeconds=${waitSeconds}`, {
      token,
      body: paymentOf(),
    });
  const unanswered = send(here);
  await device.raw();
  const waiting = send(away);
  // After this call the message is waiting; a later message gets the same error.
  await client.call('GET', `/retail/v1/devices/${away.tsn}/status`, { token });
  return {
    async assertEnds(): Promise<void> {
      const answers = (await Promise.all([unanswered, waiting])).map(({ status, body }) => [
        status,
        body.code,
        body.outcome,
      ]);
      assert.deepEqual(answers, [
        [502, 'session_lost', 'Unknown'],
        [503, 'shutting_down', 'NotProcessed'],
      ]);
      const codes = [await device.closed(), await pos.closed()].map(({ code }) => code);
      assert.deepEqual(codes, [closeCodes.restarting, closeCodes.restarting]);
    },
  };
}

// Spec: NEXO-24
test('the server stops without waiting for pending terminal requests', {
  timeout: 300_000,
}, async () => {
  const settings = { SWITCHYARD_LOG_LEVEL: 'info' };
  const { server, close } = await createDemoServer('stop-terminals', settings);
  try {
    await server.start();
    const { baseUrl, caFile } = await server.demoFacts();
    const client = createClient(baseUrl, await readFile(caFile, 'utf8'));
    const terminals = await heldTerminals(server, client);
    const stopRequestedAt = performance.now();
    const stopped = server.stop();
    await terminals.assertEnds();
    assert.equal(await stopped, 0, server.output());
    assert.ok(
      performance.now() - stopRequestedAt < waitSeconds * 1000,
      'the process is gone before',
    );
    client.close();
  } finally {
    await server.kill();
    await close();
  }
});
