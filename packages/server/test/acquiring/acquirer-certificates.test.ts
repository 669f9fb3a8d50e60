// Acquirers with client certificates, and unusable link settings, reported in the response or in
// the link state.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { startHttpAcquirer } from '@switchyard/simulators';
import {
  type MadeCertificate,
  makeCertificate,
} from '../../src/http/authentication/certificate.fixture.ts';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import {
  type ClientCertificateServer,
  startClientCertificateServer,
} from '../support/acquirers/client-certificate-server.ts';
import {
  contractTermsOnLink,
  waitUntilAvailable,
} from '../support/acquirers/test-http-acquirer.ts';
import { assertProblem } from '../support/assert-problem-response.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { signedInCommandLine } from '../support/processes/switchyard-command.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';
import { testPlatform, testTimeoutMs } from '../support/test-platform.ts';
import { until } from '../support/wait-for-result.ts';

type Link = { name: string; available: boolean; [member: string]: unknown };

const links = '/provisioning/v2/acquirer-links';

/** Writes the certificate files where an operator does, under a new name. */
async function placed(
  certificate: MadeCertificate,
  { authority }: ClientCertificateServer,
  name?: string,
) {
  const { settings } = await testPlatform();
  const directory = join(settings.dataDir, 'acquirer-certificates');
  mkdirSync(directory, { recursive: true });
  const file = name ?? `c${randomUUID().slice(0, 13)}`;
  writeFileSync(join(directory, `${file}.crt`), certificate.cert);
  writeFileSync(join(directory, `${file}.key`), certificate.key);
  writeFileSync(join(directory, `${file}.ca.crt`), authority);
  return file;
}

const sendRequest = (setup: TestOrganization, method: string, path: string, body?: unknown) =>
  setup.client.call(method, path, {
    token: setup.acquirerToken,
    ...defined({ body }),
  });

async function stateOf(setup: TestOrganization, name: string): Promise<Link> {
  const { body, text } = await sendRequest(setup, 'GET', '/payment/v1/acquirer-links');
  const found = (body.items as Link[]).find((link) => link.name === name);
  assert.ok(found, text);
  return found;
}

const sell = (setup: TestOrganization, merchant: TestMerchant = setup.merchant) =>
  setup.client.call('POST', '/payment/v1/transactions/process', {
    token: merchant.token,
    body: keyedSale(),
  });

describe('client certificates of acquirer links', () => {
  let ours: MadeCertificate;
  let renewed: MadeCertificate;

  before(async () => {
    ours = await makeCertificate('the platform');
    renewed = await makeCertificate('the platform again');
  });

  async function guarded(t: TestContext, port: number): Promise<ClientCertificateServer> {
    const server = await startClientCertificateServer(port, ours);
    t.after(server.close);
    return server;
  }

  const over = ({ port }: ClientCertificateServer, clientCertificate?: string) => ({
    host: 'localhost',
    port,
    tls: true,
    ...defined({ clientCertificate }),
  });

  // Spec: ACQ-5
  test('an ISO 8583 link sends its client certificate, and the renewed one at the next connection', async (t) => {
    const { host } = await testPlatform();
    const server = await guarded(t, host.port);
    const name = await placed(ours, server);
    const setup = await createTestOrganization({}, { link: over(server, name) });
    assert.equal((await sell(setup)).body.state, 'Captured');
    assert.deepEqual(server.acceptedClients, ['the platform']);
    const { name: linkName } = (await sendRequest(setup, 'GET', `${links}/${setup.linkId}`)).body;
    const state = await stateOf(setup, linkName);
    assert.deepEqual(
      [state['clientCertificateExpiresAt'], state['faults']],
      ['2120-01-01T00:00:00.000Z', undefined],
    );
    const metrics = await setup.platform.metrics.registry.metrics();
    const expiry = 'switchyard_acquirer_link_certificate_expiry_timestamp_seconds';
    assert.match(metrics, RegExp(`${expiry}{link="${setup.linkId}",.*} 4733510400\n`));

    await placed(renewed, server, name);
    server.acceptOnly(renewed);
    await setup.platform.openLinks();
    await until(async () => (await stateOf(setup, linkName)).available, 'the link', 60_000);
    assert.equal((await sell(setup)).body.state, 'Captured');
    assert.equal(server.acceptedClients.at(-1), 'the platform again');
    await assertAgreement(setup);
  });

  // Spec: ACQ-5
  test('a missing or unknown client certificate and an untrusted host certificate prevent the connection', async (t) => {
    const { host } = await testPlatform();
    const server = await guarded(t, host.port);
    const another = await startClientCertificateServer(host.port, ours);
    t.after(another.close);
    const name = await placed(ours, server);
    const setup = await createTestOrganization();
    const made = async (linkName: string, members: object) => {
      const body = { name: linkName, institutionId: '1', ...members };
      const answer = await sendRequest(setup, 'POST', links, body);
      assert.equal(answer.status, 201, answer.text);
    };
    // The server's authority differs from the client certificate's authority. Only `believed`
    // trusts the server and has a certificate that it accepts.
    await made('believed', over(server, name));
    await made('unbelieved', over(another, name));
    await made('stranger', over(server, await placed(renewed, server)));
    await setup.platform.openLinks();
    await until(async () => (await stateOf(setup, 'believed')).available, 'the link');
    await until(() => server.refusedConnections() > 0, 'the stranger to be turned away');
    for (const shut of ['unbelieved', 'stranger']) {
      assert.equal((await stateOf(setup, shut)).available, false, shut);
    }
    assert.deepEqual(
      [...new Set(server.acceptedClients), ...another.acceptedClients],
      ['the platform'],
    );
  });

  // Spec: ACQ-5
  test('an HTTP link sends its client certificate with every call', async (t) => {
    const setup = await createTestOrganization();
    const ledgerDir = mkdtempSync(join(tmpdir(), 'guarded-acquirer-'));
    const body = { name: 'guarded', adapter: 'HttpJson', institutionId: '100001' };
    const httpJson = { path: '/switchyard', acquirerKeys: ['A'.repeat(43)] };
    const first = await sendRequest(setup, 'POST', links, {
      ...body,
      host: 'localhost',
      port: 1,
      status: 'Disabled',
      httpJson,
    });
    assert.equal(first.status, 201, first.text);
    const bank = await startHttpAcquirer({
      host: '127.0.0.1',
      port: 0,
      path: '/switchyard',
      ledgerDir,
      platformKeys: [first.body.signingKeys.current.x],
      lateMs: testTimeoutMs + 300,
      slowMs: 300,
    });
    const server = await guarded(t, bank.port);
    t.after(async () => {
      await bank.stop();
      rmSync(ledgerDir, { recursive: true });
    });
    const id = first.body.acquirerLinkId;
    const set = (clientCertificate?: string) =>
      sendRequest(setup, 'PUT', `${links}/${id}`, {
        ...body,
        ...over(server, clientCertificate),
        httpJson: { ...httpJson, acquirerKeys: [bank.publicKey] },
      });
    assert.equal((await set()).status, 200);
    await setup.platform.openLinks();
    await until(() => server.refusedConnections() > 0, 'a call without certificate');
    assert.equal((await stateOf(setup, 'guarded')).available, false);
    assert.equal((await set(await placed(ours, server))).status, 200);
    await setup.platform.openLinks();
    const merchant = await setup.createMerchant(contractTermsOnLink(id));
    await waitUntilAvailable(setup, merchant.token);
    const sold = await sell(setup, merchant);
    assert.equal(sold.body.state, 'Captured', sold.text);
    assert.equal(bank.ledger().totals[0]?.captured, 1234);
    assert.ok(
      server.acceptedClients.length > 0 &&
        server.acceptedClients.every((each) => each === 'the platform'),
    );
  });
});

test('the conformance run sends a client certificate too', async (t) => {
  const clientCertificate = await makeCertificate('the one who checks');
  const setup = await createTestOrganization();
  const line = await signedInCommandLine(setup);
  t.after(line.remove);
  const ledgerDir = mkdtempSync(join(tmpdir(), 'checked-acquirer-'));
  const keyFile = join(line.folder, 'checks.pem');
  const { x } = (await line.run(['--json', 'acquirer', 'key', keyFile])).json();
  const bank = await startHttpAcquirer({
    host: '127.0.0.1',
    port: 0,
    ledgerDir,
    platformKeys: [x],
    lateMs: 1000,
    slowMs: 100,
  });
  const server = await startClientCertificateServer(bank.port, clientCertificate);
  t.after(async () => {
    await server.close();
    await bank.stop();
    rmSync(ledgerDir, { recursive: true });
  });
  const files = {
    cert: clientCertificate.cert,
    key: clientCertificate.key,
    ca: server.authority,
    other: server.authority,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(line.folder, name), text);
  const file = (name: keyof typeof files) => join(line.folder, name);
  const url = `https://localhost:${server.port}`;
  const check = (...more: string[]) =>
    line.run([
      'acquirer',
      'conformance',
      url,
      '--key',
      keyFile,
      '--acquirer-key',
      bank.publicKey,
      '--ca-file',
      file('ca'),
      '--only',
      'echo',
      ...more,
    ]);
  assert.equal((await check()).code, 7);
  const conformanceRun = await check('--cert-file', file('cert'), '--cert-key-file', file('key'));
  assert.equal(conformanceRun.code, 0, conformanceRun.stderr);
  assert.ok(server.acceptedClients.includes('the one who checks'));
  for (const wrong of [
    ['--cert-file', file('cert')],
    ['--cert-file', file('other'), '--cert-key-file', file('key')],
    ['--cert-file', file('key'), '--cert-key-file', file('cert')],
  ]) {
    assert.equal((await check(...wrong)).code, 2, wrong.join(' '));
  }
});

describe('links with unusable settings', () => {
  const body = { name: 'new', host: 'acquirer.example', port: 8583, institutionId: '1' };
  let setup: TestOrganization;

  before(async () => {
    setup = await createTestOrganization();
  });

  // Spec: ACQ-6
  test('an enabled link with unusable settings is refused with the pointer of the member', async () => {
    for (const [members, pointer] of [
      [{ clientCertificate: 'never-placed' }, '/clientCertificate'],
      [{ clientCertificate: 'x', host: '127.0.0.1', tls: false }, '/clientCertificate'],
      [{ zonePinKey: { keyRef: 'demo-mac', format: 'ISO0' } }, '/zonePinKey/keyRef'],
      [{ zonePinKey: { keyRef: 'never-made', format: 'ISO0' } }, '/zonePinKey/keyRef'],
      [{ zonePinKey: { keyRef: 'demo-zpk-aes', format: 'ISO0' } }, '/zonePinKey/format'],
      [{ macKey: { keyRef: 'demo-zpk' } }, '/macKey/keyRef'],
      [{ zoneMasterKey: { keyRef: 'demo-mac' } }, '/zoneMasterKey/keyRef'],
    ] as const) {
      const answer = await sendRequest(setup, 'POST', links, { ...body, ...members });
      assertProblem(answer, { code: 'field_invalid', pointer });
    }
    const bothKeys = { macKey: { keyRef: 'demo-zpk' }, zoneMasterKey: { keyRef: 'demo-mac' } };
    const { body: problem } = await sendRequest(setup, 'POST', links, { ...body, ...bothKeys });
    assert.equal(problem.errors.length, 2);
  });

  test('a disabled link is stored without these checks; the checks run when it is enabled', async () => {
    const later = { ...body, name: 'later', macKey: { keyRef: 'not-yet' } };
    const made = await sendRequest(setup, 'POST', links, { ...later, status: 'Disabled' });
    assert.equal(made.status, 201, made.text);
    const path = `${links}/${made.body.acquirerLinkId}`;
    const enabled = await sendRequest(setup, 'PUT', path, { ...later, status: 'Enabled' });
    assertProblem(enabled, { code: 'field_invalid', pointer: '/macKey/keyRef' });
    assert.equal((await sendRequest(setup, 'DELETE', path)).status, 204);
  });

  // Spec: ACQ-6
  test('a link whose settings become unusable reports the fault in its state and can be renamed', async () => {
    const { acquirerLinks } = setup.platform.provisioning;
    const scope = { organizationId: setup.organizationId };
    // A stored link whose keys were changed in the HSM afterwards.
    const stale = {
      ...body,
      name: 'stale',
      host: '127.0.0.1',
      port: 1,
      tls: false,
      zonePinKey: { keyRef: 'demo-mac', format: 'ISO0' },
      macKey: { keyRef: 'gone' },
    };
    const id = randomUUID();
    assert.ok(await acquirerLinks.createIfNew(scope, stale, id));
    await setup.platform.openLinks();
    const problem = await until(async () => {
      const { available, faults } = await stateOf(setup, 'stale');
      assert.equal(available, false);
      const all = (faults ?? []) as { pointer: string }[];
      return all.length === 2 ? all : undefined;
    }, 'both faults');
    assert.deepEqual(problem.map(({ pointer }) => pointer).sort(), [
      '/macKey/keyRef',
      '/zonePinKey/keyRef',
    ]);
    const renamed = await sendRequest(setup, 'PUT', `${links}/${id}`, { ...stale, name: 'staler' });
    assert.equal(renamed.status, 200, renamed.text);
    const mended = { ...stale, name: 'staler', zonePinKey: undefined, macKey: undefined };
    assert.equal((await sendRequest(setup, 'PUT', `${links}/${id}`, mended)).status, 200);
    await setup.platform.openLinks();
    await until(async () => (await stateOf(setup, 'staler'))['faults'] === undefined, 'no fault');
    assert.equal((await sendRequest(setup, 'DELETE', `${links}/${id}`)).status, 204);
  });
});
