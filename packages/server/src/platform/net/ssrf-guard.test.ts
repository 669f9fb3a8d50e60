// Which addresses the guard allows for tenants, before and after a name is resolved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acquirerLinkRules, outgoingCallRules } from '../settings/address-settings.ts';
import { createAddressGuard } from './ssrf-guard.ts';

type Options = Partial<Parameters<typeof createAddressGuard>[0]>;

const guardWith = (options: Options = {}) =>
  createAddressGuard({ allowsLoopback: false, lookup: async () => [], ...options });

const resolvingTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

const isRefused = (host: string, port = 443, options?: Options) =>
  guardWith(options).findHostFault(host, port) !== undefined;

test('private, loopback, link-local and shortened addresses are refused', () => {
  for (const host of [
    '127.0.0.1',
    'localhost',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    'fe80::1',
    'fd00::1',
    '169.254.169.254',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '0.0.0.0',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.0.0.1.',
    'LOCALHOST',
    'localhost.',
    'service.localhost',
  ]) {
    assert.ok(isRefused(host), host);
  }
  for (const host of ['acquirer.example', 'localhost.example', '8.8.8.8', '2606:4700::1111']) {
    assert.ok(!isRefused(host), host);
  }
});

test('the operator’s allow list allows its addresses only on its ports', () => {
  const allowedAddresses = [
    { range: '10.1.0.0/16', portFrom: 8583, portTo: 8590 },
    { range: '127.0.0.1', portFrom: 9000, portTo: 9000 },
    { range: 'fd00::/8', portFrom: 443, portTo: 443 },
  ];
  const refused = (host: string, port: number) => isRefused(host, port, { allowedAddresses });
  assert.ok(!refused('10.1.2.3', 8590));
  assert.ok(!refused('127.0.0.1', 9000));
  assert.ok(!refused('localhost', 9000));
  assert.ok(!refused('fd12::1', 443));
  assert.ok(refused('10.1.2.3', 8591));
  assert.ok(refused('10.2.2.3', 8583));
  assert.ok(refused('127.0.0.1', 9001));
  assert.ok(refused('127.0.0.2', 9000));
  assert.ok(refused('localhost', 8583));
  assert.ok(refused('fd12::1', 8443));
});

// Spec: SET-9
test('a name that resolves to a private address is refused when it is saved', async () => {
  const fault = (...addresses: string[]) =>
    guardWith({ lookup: resolvingTo(...addresses) }).resolveHostFault('acquirer.example', 443);
  assert.notEqual(await fault('10.0.0.1'), undefined);
  assert.notEqual(await fault('8.8.8.8', '169.254.169.254'), undefined);
  assert.notEqual(await fault('8.8.8.8', '::1'), undefined);
  assert.equal(await fault('8.8.8.8'), undefined);
  assert.equal(await fault(), undefined);
  const failing = guardWith({ lookup: () => Promise.reject(new Error('no answer')) });
  assert.equal(await failing.resolveHostFault('acquirer.example', 443), undefined);
});

test('production calls use ports 443, 8443 and those of the operator, links use any port', () => {
  const settings = {
    environment: 'production',
    acquirerTlsProxies: ['127.0.0.1:7001', 'localhost:7002'],
    allowedAddresses: [{ range: '10.0.0.1', portFrom: 9443, portTo: 9443 }],
    allowedPorts: [4443],
  };
  const calls = outgoingCallRules(settings);
  for (const port of [443, 8443, 4443]) assert.ok(!isRefused('8.8.8.8', port, calls), `${port}`);
  for (const port of [80, 22, 9443]) assert.ok(isRefused('8.8.8.8', port, calls), `${port}`);
  assert.ok(isRefused('provider.example', 22, calls));
  assert.ok(!isRefused('10.0.0.1', 9443, calls));
  assert.ok(isRefused('127.0.0.1', 7001, calls), 'proxies are for acquirer links');
  const links = acquirerLinkRules(settings);
  for (const [host, port] of [
    ['8.8.8.8', 8583],
    ['127.0.0.1', 7001],
    ['localhost', 7002],
  ] as const) {
    assert.ok(!isRefused(host, port, links), host);
  }
  assert.ok(isRefused('127.0.0.1', 5432, links));
  const demo = { ...settings, environment: 'demo' };
  assert.ok(!isRefused('127.0.0.1', 5432, acquirerLinkRules(demo)));
  assert.ok(isRefused('10.0.0.1', 5432, acquirerLinkRules(demo)));
});
