import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, test } from 'node:test';
import { testDatabase } from '../../test/database.ts';
import { eventually } from '../../test/eventually.ts';
import { type ScriptedHost, startScriptedHost } from '../../test/scripted-host.ts';
import { createLog, createMetrics, systemClock, systemIds } from '../platform/index.ts';
import { type AcquirerLink, createAcquiring } from './index.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const organizationId = randomUUID();
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startHost(): Promise<ScriptedHost> {
  const host = await startScriptedHost();
  closers.push(host.stop);
  return host;
}

function linkTo(settings: Partial<AcquirerLink['settings']>, name = 'north'): AcquirerLink {
  const rest = { host: '127.0.0.1', port: 1, tls: false, institutionId: '1001' };
  return {
    organizationId,
    linkId: randomUUID(),
    name,
    adapter: 'iso8583-host',
    settings: { ...rest, ...settings },
  };
}

/** `links` may be changed by the test; the next look sees it. */
async function setUp(links: AcquirerLink[]) {
  const metrics = createMetrics();
  const acquiring = createAcquiring({
    database: await testDatabase(),
    clock: systemClock,
    ids: systemIds,
    log,
    metrics,
    timeoutMs: 1000,
    loadLinks: async () => links,
    onLateAnswer: () => {},
  });
  closers.push(acquiring.close);
  const shown = async () =>
    (await metrics.registry.getSingleMetric('switchyard_acquirer_link_up')?.get())?.values.map(
      ({ labels, value }) => `${labels['link']} ${value}`,
    );
  return { acquiring, shown };
}

describe('acquirer links', () => {
  test('one that cannot be opened keeps no other from opening', async () => {
    const host = await startHost();
    const bad = linkTo({ host: 'acquirer.example', tls: false }, 'bad');
    const good = linkTo({ port: host.port }, 'good');
    const { acquiring, shown } = await setUp([bad, good]);
    await acquiring.start();
    await eventually('the good one is up', () => acquiring.available(good.linkId));
    assert.equal(acquiring.available(bad.linkId), false);
    assert.deepEqual((await shown())?.sort(), ['bad 0', 'good 1']);
  });

  test('all of loopback may be reached without TLS, as provisioning allows', async () => {
    const host = await startHost();
    const link = linkTo({ host: 'localhost', port: host.port });
    const elsewhere = linkTo({ host: '127.0.0.2' });
    const { acquiring } = await setUp([elsewhere, link]);
    await acquiring.start();
    assert.equal(acquiring.availability(organizationId).length, 2);
  });
});
