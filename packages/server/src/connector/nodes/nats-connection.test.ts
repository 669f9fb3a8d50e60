// Tests a real NATS connection: a break at its start, and late messages while it closes.
import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { freePorts } from '../../../test/support/free-ports.ts';
import {
  createNatsServer,
  type NatsServer,
  natsPassword,
  natsUser,
} from '../../../test/support/processes/nats-server.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createLog, createMetrics, pause } from '../../platform/index.ts';
import { BackplaneError } from './backplane.ts';
import { type NatsClient, openNatsClient } from './nats-connection.ts';

const text = (word: string) => new TextEncoder().encode(word);

const urlAt = (port: number) => `nats://${natsUser}:${natsPassword}@127.0.0.1:${port}`;

function linkTo(natsUrl: string, instanceName: string): NatsClient {
  const noTlsFiles = { natsCaFile: undefined, natsCertFile: undefined, natsKeyFile: undefined };
  return openNatsClient({
    settings: { natsUrl, instanceName, ...noTlsFiles, natsCredentialsFile: undefined },
    log: createLog({ logLevel: 'silent', instanceName }),
    metrics: createMetrics(),
  });
}

async function up(natsClient: NatsClient): Promise<NatsClient> {
  if (!natsClient.isUp())
    await new Promise<void>((resolve) => natsClient.onChange(() => resolve()));
  return natsClient;
}

/** A proxy that breaks the first connection at its first subscription, and no later connection. */
async function wireThatBreaksOnce(port: number) {
  const open = new Set<Socket>();
  let isFirst = true;
  const server = createServer((near) => {
    const breaks = isFirst;
    isFirst = false;
    const remoteSessions = connect(port, '127.0.0.1');
    const end = () => {
      open.delete(near);
      near.destroy();
      remoteSessions.destroy();
    };
    open.add(near);
    for (const socket of [near, remoteSessions]) socket.on('error', end).on('close', end);
    near.on('data', (data) => {
      if (breaks && data.includes('SUB ')) end();
      else remoteSessions.write(data);
    });
    remoteSessions.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as { port: number }).port,
    open: () => open.size,
    close: () => server.close(),
  };
}

describe('the connection to NATS', () => {
  let nats: NatsServer;
  let natsPort: number;
  before(async () => {
    [natsPort = 0] = await freePorts(1);
    nats = createNatsServer(natsPort);
    await nats.start();
  });
  after(() => nats?.kill());

  const opened = (instanceName: string) => up(linkTo(urlAt(natsPort), instanceName));

  it('opens one connection and receives a message once after the first connection broke during its start', async (t) => {
    const wire = await wireThatBreaksOnce(natsPort);
    const requester = await opened('asking');
    const responder = linkTo(urlAt(wire.port), 'asked');
    t.after(async () => {
      await Promise.all([requester.close(), responder.close()]);
      wire.close();
    });
    const heard: string[] = [];
    responder.subscribe('news', (data) => void heard.push(Buffer.from(data).toString()));
    responder.subscribe('ready', (_, reply) => reply(text('yes')));
    await up(responder);
    await eventually(
      'ears',
      async () => (await requester.request('ready', text('?'))) !== undefined,
    );
    // The broken connection would reconnect within this time.
    await pause(1000);
    requester.publish('news', text('once'));
    await eventually('news', () => heard.length > 0);
    await pause(100);
    assert.deepEqual([heard, wire.open()], [['once'], 1]);
  });

  it('ignores messages after it is closed, and refuses new requests', async (t) => {
    const [requester, responder] = await Promise.all([opened('asking'), opened('asked')]);
    t.after(() => Promise.all([requester.close(), responder.close()]));
    const heard = new Promise<(data: Uint8Array) => void>((resolve) => {
      responder.subscribe('late', (_, answer) => resolve(answer));
    });
    responder.subscribe('ready', (_, reply) => reply(text('yes')));
    await eventually(
      'ears',
      async () => (await requester.request('ready', text('?'))) !== undefined,
    );
    const answered = requester.request('late', text('?')).catch(() => undefined);
    const answer = await heard;
    let isClosed = false;
    const closing = responder.close().then(() => {
      isClosed = true;
    });
    do {
      await new Promise((resolve) => setImmediate(resolve));
      answer(text('late'));
      responder.publish('news', text('late'));
      responder.subscribe('later', () => {})();
    } while (!isClosed);
    await closing;
    answer(text('too late'));
    responder.publish('news', text('too late'));
    responder.subscribe('later', () => {})();
    await assert.rejects(responder.request('late', text('?')), BackplaneError);
    await answered;
  });
});
