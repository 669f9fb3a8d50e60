// Tests a real NATS connection: a break at its start, and late messages while it closes.
import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { freePorts } from '../../../test/support/free-ports.ts';
import {
  type NatsServer,
  natsPassword,
  natsServer,
  natsUser,
} from '../../../test/support/processes/nats-server.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { createLog, createMetrics, pause } from '../../platform/index.ts';
import { BackplaneFault } from './backplane.ts';
import { type Link, openLink } from './nats-connection.ts';

const text = (word: string) => new TextEncoder().encode(word);

const urlAt = (port: number) => `nats://${natsUser}:${natsPassword}@127.0.0.1:${port}`;

function linkTo(natsUrl: string, instanceName: string): Link {
  const none = { natsCaFile: undefined, natsCertFile: undefined, natsKeyFile: undefined };
  return openLink({
    settings: { natsUrl, instanceName, ...none, natsCredentialsFile: undefined },
    log: createLog({ logLevel: 'silent', instanceName }),
    metrics: createMetrics(),
  });
}

async function up(link: Link): Promise<Link> {
  if (!link.isUp()) await new Promise<void>((resolve) => link.onChange(() => resolve()));
  return link;
}

/** A proxy that breaks the first connection at its first subscription, and no later connection. */
async function wireThatBreaksOnce(port: number) {
  const open = new Set<Socket>();
  let isFirst = true;
  const server = createServer((near) => {
    const breaks = isFirst;
    isFirst = false;
    const far = connect(port, '127.0.0.1');
    const end = () => {
      open.delete(near);
      near.destroy();
      far.destroy();
    };
    open.add(near);
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
    near.on('data', (data) => {
      if (breaks && data.includes('SUB ')) end();
      else far.write(data);
    });
    far.pipe(near);
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
    nats = natsServer(natsPort);
    await nats.start();
  });
  after(() => nats?.kill());

  const opened = (instanceName: string) => up(linkTo(urlAt(natsPort), instanceName));

  it('is one, and hears once, where it broke before it had begun', async (t) => {
    const wire = await wireThatBreaksOnce(natsPort);
    const asking = await opened('asking');
    const asked = linkTo(urlAt(wire.port), 'asked');
    t.after(async () => {
      await Promise.all([asking.close(), asked.close()]);
      wire.close();
    });
    const heard: string[] = [];
    asked.listen('news', (data) => void heard.push(Buffer.from(data).toString()));
    asked.listen('ready', (_, say) => say(text('yes')));
    await up(asked);
    await eventually('ears', async () => (await asking.ask('ready', text('?'))) !== undefined);
    // The broken connection would reconnect within this time.
    await pause(1000);
    asking.send('news', text('once'));
    await eventually('news', () => heard.length > 0);
    await pause(100);
    assert.deepEqual([heard, wire.open()], [['once'], 1]);
  });

  it('drops what comes to it once it is closed, answers as well', async (t) => {
    const [asking, asked] = await Promise.all([opened('asking'), opened('asked')]);
    t.after(() => Promise.all([asking.close(), asked.close()]));
    const heard = new Promise<(data: Uint8Array) => void>((resolve) => {
      asked.listen('late', (_, answer) => resolve(answer));
    });
    asked.listen('ready', (_, say) => say(text('yes')));
    await eventually('ears', async () => (await asking.ask('ready', text('?'))) !== undefined);
    const answered = asking.ask('late', text('?')).catch(() => undefined);
    const answer = await heard;
    let isClosed = false;
    const closing = asked.close().then(() => {
      isClosed = true;
    });
    do {
      await new Promise((resolve) => setImmediate(resolve));
      answer(text('late'));
      asked.send('news', text('late'));
      asked.listen('later', () => {})();
    } while (!isClosed);
    await closing;
    answer(text('too late'));
    asked.send('news', text('too late'));
    asked.listen('later', () => {})();
    await assert.rejects(asked.ask('late', text('?')), BackplaneFault);
    await answered;
  });
});
