import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderBanner } from './banner.ts';
import { demoApplications, serviceProviderApplication } from './demo-data.ts';
import { buildDemoJson } from './demo-json.ts';
import { demoUsers, providerUsers } from './demo-users.ts';

const addresses = {
  environment: 'demo',
  baseUrl: 'https://localhost:8443',
  authUrl: 'https://localhost:8443',
  deviceAuthUrl: 'https://localhost:9021',
  metricsHost: '127.0.0.1',
  metricsPort: 9464,
  dataDir: '/srv/pay/.switchyard',
} as const;
const secrets = {
  applications: new Map(
    [...demoApplications, serviceProviderApplication]
      .filter(({ isPublic }) => !isPublic)
      .map(({ clientId }, index) => [clientId, String(index).repeat(43).slice(0, 43)]),
  ),
  users: new Map(
    [...demoUsers, ...providerUsers].map(({ username, hasOneTimePassword }) => [
      username,
      {
        password: username.padEnd(23, 'x'),
        ...(hasOneTimePassword ? { otpSecret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' } : {}),
      },
    ]),
  ),
};
const { dataDir } = addresses;
const caFile = `${dataDir}/tls/ca.pem`;
const locations = {
  demoFile: `${dataDir}/demo.json`,
  ledgerDir: `${dataDir}/acquirer`,
  acquirerPort: 8583,
  qrProvider: { url: 'http://127.0.0.1:8585/switchyard', dir: `${dataDir}/qr-provider` },
};
// The first time in the table of RFC 6238: the six-digit code of its secret is 287082.
const plain = {
  hasColours: false,
  isDocumentationBeingBuilt: false,
  nowMs: 59_000,
  isVerbose: true,
};
const notVerbose = { ...plain, isVerbose: false };

const providerFacts = ({ serviceProvider }: ReturnType<typeof buildDemoJson>): string[] => {
  const { name, organizationId, userDomainId, application, users } = serviceProvider;
  const { clientId, clientSecret = '' } = application;
  const people = users.flatMap(({ username, password }) => [username, password]);
  return [name, organizationId, userDomainId, clientId, clientSecret, ...people];
};

test('the short text fits on one screen: portal, first sale, documentation, data, and how to stop', () => {
  const facts = buildDemoJson(addresses, caFile, secrets);
  const lines = renderBanner(facts, locations, notVerbose).split('\n');
  assert.ok(lines.length <= 40, String(lines.length));
  for (const line of lines) assert.ok(line.length <= 100, line);
  const lineNumbers = [
    'Portal',
    'A first sale',
    'Documentation',
    'Data:',
    'Ctrl+C',
    '--verbose',
  ].map((start) => lines.findIndex((line) => line.includes(start)));
  assert.deepEqual(
    lineNumbers,
    lineNumbers.toSorted((a, b) => a - b),
  );
  const text = lines.join('\n');
  for (const user of ['demo@demo', 'admin@demo', 'provider@lumen'])
    assert.ok(text.includes(user), user);
});

test('the table names every address, application, store and device, in 100 columns', () => {
  const facts = buildDemoJson(addresses, caFile, secrets);
  const text = renderBanner(facts, locations, plain);
  const expected = [
    addresses.baseUrl,
    addresses.deviceAuthUrl,
    facts.portalUrl,
    facts.providerPortalUrl,
    'demo@demo',
    caFile,
    facts.mailDir,
    locations.demoFile,
    '127.0.0.1:8583',
    locations.qrProvider.url,
    locations.qrProvider.dir,
    ...Object.values(facts.applications).flatMap((one) => [one.clientId, one.clientSecret ?? '']),
    ...facts.users.flatMap(({ username, password }) => [username, password]),
    ...providerFacts(facts),
    ...facts.merchants.flatMap(({ name, merchantId, stores }) => [
      name,
      merchantId,
      ...stores.flatMap((store) => [store.name, store.storeId]),
    ]),
    ...facts.devices.flatMap(({ tsn, logicalDeviceId }) => [tsn, logicalDeviceId]),
  ];
  for (const fact of expected) assert.ok(text.includes(fact), fact);
  for (const line of text.split('\n')) assert.ok(line.length <= 100, `${line.length}: ${line}`);
});

test('the banner says that the documentation is being built, only if it is', () => {
  const facts = buildDemoJson(addresses, caFile, secrets);
  const note = `${addresses.baseUrl}/docs (is being built, ready in about a minute)`;
  for (const [style, count] of [
    [notVerbose, 1],
    [plain, 2],
  ] as const) {
    const text = renderBanner(facts, locations, { ...style, isDocumentationBeingBuilt: true });
    assert.equal(text.split(note).length - 1, count);
    assert.ok(!renderBanner(facts, locations, style).includes('being built'));
  }
});

test('the banner shows the current one-time password of each user with a second factor', () => {
  const lines = renderBanner(buildDemoJson(addresses, caFile, secrets), locations, plain).split(
    '\n',
  );
  const lineOf = (name: string) => lines.find((line) => line.startsWith(`  ${name} `)) ?? '';
  assert.match(lineOf('admin'), / 287082 {2}org_admin, the acquirer$/);
  assert.match(lineOf('demo'), / - {7}merchant_manager, Café Lumière$/);
});

test('columns are aligned', () => {
  const text = renderBanner(buildDemoJson(addresses, caFile, secrets), locations, plain);
  const lines = text.split('\n');
  const rows = demoApplications.map(
    ({ key, clientId }) =>
      lines.find((line) => line.startsWith(`  ${key} `) && line.includes(clientId)) ?? '',
  );
  const starts = rows.map((line, at) => line.indexOf(demoApplications[at]?.clientId ?? '?'));
  assert.equal(new Set(starts).size, 1, rows.join('\n'));
});

test('the banner contains colour codes only with the colour option', () => {
  const facts = buildDemoJson(addresses, caFile, secrets);
  const esc = String.fromCharCode(27);
  assert.ok(!renderBanner(facts, locations, plain).includes(esc));
  const coloured = renderBanner(facts, locations, { ...plain, hasColours: true });
  assert.ok(coloured.includes(`${esc}[1m`));
  const sgr = new RegExp(`${esc}\\[\\d+m`, 'g');
  assert.equal(coloured.replace(sgr, ''), renderBanner(facts, locations, plain));
});

test('without a certificate authority of our own the curl trusts the usual ones', () => {
  const text = renderBanner(buildDemoJson(addresses, undefined, secrets), locations, plain);
  assert.ok(!text.includes('cacert') && !text.includes('CA='));
});

test('a path with a quote stays one word of the shell', () => {
  const facts = buildDemoJson(addresses, "/home/o'neil/ca.pem", secrets);
  assert.ok(renderBanner(facts, locations, plain).includes("CA='/home/o'\\''neil/ca.pem'"));
});
