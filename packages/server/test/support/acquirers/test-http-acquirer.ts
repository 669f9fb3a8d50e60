// An HTTP acquirer for a test: the reference server, attached to an organisation of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { type HttpAcquirer, startHttpAcquirer } from '@switchyard/simulators';
import { freePorts } from '../free-ports.ts';
import type { TestOrganization } from '../test-organization.ts';
import { testLateMs } from '../test-platform.ts';
import { until } from '../wait-for-result.ts';

export type AttachedAcquirer = {
  server: HttpAcquirer;
  linkId: string;
  /** Stops the server, as when its machine fails; the link stays. */
  stop(): Promise<void>;
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
export async function attachHttpAcquirer(
  setup: TestOrganization,
  name: string,
): Promise<AttachedAcquirer> {
  const scope = { organizationId: setup.organizationId };
  const { acquirerLinks } = setup.platform.provisioning;
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
  let isStopped = false;
  async function stop(): Promise<void> {
    if (isStopped) return;
    isStopped = true;
    await server.stop();
  }
  closers.push(async () => {
    await stop();
    rmSync(ledgerDir, { recursive: true });
  });
  const linkId = view.acquirerLinkId;
  await acquirerLinks.replace(scope, linkId, {
    ...body,
    port: server.port,
    status: 'Enabled',
    httpJson: { ...httpJson, acquirerKeys: [server.publicKey] },
  });
  await setup.platform.openLinks();
  return { server, linkId, stop };
}

let rangeCount = 0;

/** The terms of a contract on a link, with terminal ids that no other contract uses. */
export function contractTermsOnLink(linkId: string, terms: Record<string, unknown> = {}) {
  rangeCount += 1;
  const terminalIdPrefix = `H${rangeCount.toString(36).toUpperCase().padStart(3, '0')}`;
  return {
    acquirerLink: linkId,
    acquirerMerchantId: `H${String(rangeCount).padStart(14, '0')}`,
    terminalIdRange: { from: `${terminalIdPrefix}0001`, to: `${terminalIdPrefix}9999` },
    ...terms,
  };
}

/** Waits until the platform can accept sales of the merchant. */
export async function waitUntilAvailable(setup: TestOrganization, token: string): Promise<void> {
  const path = '/payment/v1/transactions/technical/isAvailable';
  await until(async () => {
    const { body } = await setup.client.call('GET', path, { token });
    return body.available === true ? true : undefined;
  }, 'the acquirer to be ready');
}
