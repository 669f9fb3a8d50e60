// An acquirer that speaks HTTP for a test: the reference server, attached to an organisation of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { type HttpAcquirer, startHttpAcquirer } from '@switchyard/simulators';
import { freePorts } from '../free-ports.ts';
import type { Scene } from '../test-merchant.ts';
import { testLateMs } from '../test-platform.ts';
import { until } from '../wait-for-result.ts';

export type AttachedAcquirer = {
  server: HttpAcquirer;
  linkId: string;
  /** Ends the server, as if its machine were gone; the link stays. */
  vanish(): Promise<void>;
};

const unknownKey = 'A'.repeat(43);
const closers: (() => Promise<void>)[] = [];

// At the top level: the hook of the whole run, not of the test or hook that happened to attach one.
after(async () => {
  for (const close of closers) await close();
});

/** Its key is known once it runs, and the platform's once the link is there: so the link changes once. */
export async function attachHttpAcquirer(on: Scene, name: string): Promise<AttachedAcquirer> {
  const scope = { organizationId: on.organizationId };
  const { acquirerLinks } = on.house.provisioning;
  const body = {
    name,
    adapter: 'HttpJson',
    host: '127.0.0.1',
    port: 1,
    tls: false,
    institutionId: '100001',
    status: 'Disabled',
  };
  const httpJson = { path: '/switchyard', acquirerKeys: [unknownKey] };
  const { view } = await acquirerLinks.create(scope, { ...body, httpJson });
  const ledgerDir = mkdtempSync(join(tmpdir(), 'http-acquirer-'));
  // A link knocks at it for a while once it is gone: at a port that the system gives to nobody else.
  const [port = 0] = await freePorts(1);
  const server = await startHttpAcquirer({
    host: '127.0.0.1',
    port,
    path: '/switchyard',
    ledgerDir,
    platformKeys: [view.signingKeys?.current.x ?? ''],
    lateMs: testLateMs,
    slowMs: 300,
  });
  let isGone = false;
  async function vanish(): Promise<void> {
    if (isGone) return;
    isGone = true;
    await server.stop();
  }
  closers.push(async () => {
    await vanish();
    rmSync(ledgerDir, { recursive: true });
  });
  const linkId = view.acquirerLinkId;
  await acquirerLinks.replace(scope, linkId, {
    ...body,
    port: server.port,
    status: 'Enabled',
    httpJson: { ...httpJson, acquirerKeys: [server.publicKey] },
  });
  await on.house.openLinks();
  return { server, linkId, vanish };
}

let ranges = 0;

/** The terms of a contract on a link, with terminals that no other contract has. */
export function termsOn(linkId: string, terms: Record<string, unknown> = {}) {
  ranges += 1;
  const head = `H${ranges.toString(36).toUpperCase().padStart(3, '0')}`;
  return {
    acquirerLink: linkId,
    acquirerMerchantId: `H${String(ranges).padStart(14, '0')}`,
    terminalIdRange: { from: `${head}0001`, to: `${head}9999` },
    ...terms,
  };
}

/** Waits until sales of a merchant can be taken. */
export async function untilAvailable(on: Scene, token: string): Promise<void> {
  const path = '/payment/v1/transactions/technical/isAvailable';
  await until(async () => {
    const { body } = await on.client.call('GET', path, { token });
    return body.available === true ? true : undefined;
  }, 'the acquirer to be ready');
}
