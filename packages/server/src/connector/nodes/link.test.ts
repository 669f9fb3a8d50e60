// The connection to a real NATS while it is being closed: what comes late is dropped, and breaks nothing.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../test/eventually.ts';
import { freePorts } from '../../../test/free-ports.ts';
import { type NatsServer, natsPassword, natsServer, natsUser } from '../../../test/nats-server.ts';
import { createLog, createMetrics } from '../../platform/index.ts';
import { BackplaneFault } from '../backplane.ts';
import { type Link, openLink } from './link.ts';

const text = (word: string) => new TextEncoder().encode(word);

describe('the connection to NATS at its end', () => {
  let nats: NatsServer;
  let natsUrl: string;
  before(async () => {
    const [port = 0] = await freePorts(1);
    nats = natsServer(port);
    natsUrl = `nats://${natsUser}:${natsPassword}@127.0.0.1:${port}`;
    await nats.start();
  });
  after(() => nats?.kill());

  async function opened(instanceName: string): Promise<Link> {
    const none = { natsCaFile: undefined, natsCertFile: undefined, natsKeyFile: undefined };
    const link = openLink({
      settings: { natsUrl, instanceName, ...none, natsCredentialsFile: undefined },
      log: createLog({ logLevel: 'silent', instanceName }),
      metrics: createMetrics(),
    });
    if (!link.isUp()) await new Promise<void>((resolve) => link.onChange(() => resolve()));
    return link;
  }

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
