import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type KeyIdentity, KeyProviderError } from './key-provider.ts';
import { createPkcs11Provider } from './pkcs11-provider.ts';

const options = { module: '/lib/module.so', token: 'vault', key: 'cards', pin: '246813' };
const identity: KeyIdentity = { organizationId: 'one', keyId: 'two', purpose: 'Data' };

class Pkcs11RejectedError extends Error {
  override name = 'Pkcs11RejectedError';
}

/** A module that writes the owner and purpose before the bytes, in place of encryption. */
const moduleOf = (fails: { error?: Error } = {}) => ({
  openPkcs11: () => ({
    checkValue: 'A1B2C3',
    seal(bytes: Buffer, boundTo: string) {
      if (fails.error !== undefined) throw fails.error;
      return Buffer.concat([Buffer.from(boundTo), bytes]);
    },
    open(sealed: Buffer, boundTo: string) {
      if (fails.error !== undefined) throw fails.error;
      if (!sealed.toString('latin1').startsWith(boundTo)) throw new Pkcs11RejectedError('broken');
      return sealed.subarray(boundTo.length);
    },
    close() {},
  }),
});

const isFault = (code: KeyProviderError['code']) => (error: unknown) =>
  error instanceof KeyProviderError && error.code === code;

describe('a PKCS#11 module as the key provider', () => {
  // Spec: ACQ-15
  test('names token, key and check value, and binds a key to its place', async () => {
    const provider = await createPkcs11Provider(options, async () => moduleOf());
    const wrapped = await provider.wrap(Buffer.from('a key'), identity);
    assert.equal(wrapped.wrappedBy, 'pkcs11:vault/cards/A1B2C3');
    assert.ok(provider.canUnwrap(wrapped.wrappedBy));
    assert.ok(!provider.canUnwrap('pkcs11:vault/cards/000000'));
    assert.equal((await provider.unwrap(wrapped, identity)).toString(), 'a key');
    const elsewhere = { ...identity, organizationId: 'three' };
    await assert.rejects(provider.unwrap(wrapped, elsewhere), isFault('Refused'));
    await provider.close();
  });

  test('reports Unavailable for wrap and unwrap after the module was removed', async () => {
    const fails: { error?: Error } = {};
    const provider = await createPkcs11Provider(options, async () => moduleOf(fails));
    const wrapped = await provider.wrap(Buffer.from('a key'), identity);
    fails.error = new Error('CKR_DEVICE_REMOVED');
    await assert.rejects(provider.unwrap(wrapped, identity), isFault('Unavailable'));
    await assert.rejects(provider.wrap(Buffer.from('x'), identity), isFault('Unavailable'));
  });

  test('reports a missing package or library when the provider is created', async () => {
    await assert.rejects(
      createPkcs11Provider(options),
      /pkcs11js is not installed|module|library|No such file|cannot open/i,
    );
  });
});
