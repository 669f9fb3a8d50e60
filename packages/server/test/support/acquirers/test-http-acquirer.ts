// An HTTP acquirer for a test: the reference server, attached to an organisation of its own.
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
  /** Stops the server, as when its machine fails; the link stays. */
  vanish(): Promise<void>;
};

const unknownKey = 'A'.repeat(43);
const closers: (() => Promise<void>)[] = [];

// At the top level the hook belongs to the whole run, not to the test that attached an acquirer.
after(async () => {
  for (const close of closers) await close();
});

/**
 * Creates the link first and updates it once, because each side needs the public key of the other.
 */
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
  // The link reconnects for a while after the server stops, so no other server may get this port.
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

/** The terms of a contract on a link, with terminal ids that no other contract uses. */
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

/** Waits until the platform can accept sales of the merchant. */
export async function untilAvailable(on: Scene, token: string): Promise<void> {
  const path = '/payment/v1/transactions/technical/isAvailable';
  await until(async () => {
    const { body } = await on.client.call('GET', path, { token });
    return body.available === true ? true : undefined;
  }, 'the acquirer to be ready');
}
