// A link opens only with keys of its own organisation and of the required usage.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AcquirerLink, HttpJsonLink, Iso8583HostLink } from '../spi/acquirer-spi.ts';
import { assertOwnKeys } from './check-link-keys-and-certificate.ts';

const names = { organizationId: 'one', linkId: 'l', name: 'north' };
const where = { host: '127.0.0.1', port: 1, tls: false, institutionId: '1' };
const zonePinKey = { keyRef: 'zpk', format: 0 } as const;

const host = (settings: Partial<Iso8583HostLink['settings']>): AcquirerLink => ({
  ...names,
  adapter: 'iso8583-host',
  settings: { ...where, ...settings },
});

const http: HttpJsonLink = {
  ...names,
  adapter: 'http-json',
  settings: { ...where, zonePinKey, acquirerKeys: [], keyVersion: 1 },
};

/** What a module would allow, as `organisation usage key`. */
const module = (...allowed: string[]) => ({
  mayUse: (key: string, usage: string, organization: string) =>
    allowed.includes(`${organization} ${usage} ${key}`),
});

test('opening a link checks owner and usage of each key', () => {
  const macKey = { keyRef: 'mac' };
  const zoneMasterKey = { keyRef: 'zmk' };
  const all = module('one ZonePin zpk', 'one Mac mac', 'one KeyEncryption zmk');
  assertOwnKeys(all, host({ zonePinKey, macKey, zoneMasterKey }));
  assertOwnKeys(module(), host({}));
  const otherKeys = module('other ZonePin zpk', 'one ZonePin mac', 'one Mac zmk');
  assert.throws(
    () => assertOwnKeys(otherKeys, host({ zonePinKey })),
    /^InvalidLinkSettingError: is not a zone PIN key/,
  );
  assert.throws(
    () => assertOwnKeys(otherKeys, host({ macKey })),
    /^InvalidLinkSettingError: is not a MAC key/,
  );
  assert.throws(
    () => assertOwnKeys(otherKeys, host({ zoneMasterKey })),
    /^InvalidLinkSettingError: is not a zone master key/,
  );
  assert.throws(
    () => assertOwnKeys(otherKeys, http),
    /^InvalidLinkSettingError: is not a zone PIN key/,
  );
});
