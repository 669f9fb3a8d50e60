import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '../../platform/index.ts';
import {
  createLocalKeyProvider,
  type KeyIdentity,
  type KeySettings,
  openKeyProvider,
} from './open-key-provider.ts';

const identity: KeyIdentity = { organizationId: 'one', keyId: 'two', purpose: 'Index' };
const emptySettings = {
  vaultKey: undefined,
  vaultKeyPrevious: undefined,
  vaultKmsKey: undefined,
  vaultKmsUrl: undefined,
  awsAccessKeyId: undefined,
  awsSecretAccessKey: undefined,
  awsSessionToken: undefined,
  vaultPkcs11Module: undefined,
  vaultPkcs11Token: undefined,
  vaultPkcs11Key: undefined,
  vaultPkcs11Pin: undefined,
};

const open = (settings: Partial<KeySettings> & Pick<KeySettings, 'vaultKeyProvider'>) =>
  openKeyProvider({ ...emptySettings, ...settings }, systemClock);

test('the provider of the settings wraps, and those before it still unwrap', async () => {
  const [vaultKey, vaultKeyPrevious] = [randomBytes(32), randomBytes(32)];
  const old = createLocalKeyProvider(vaultKeyPrevious);
  const wrapped = await old.wrap(Buffer.from('a key'), identity);
  const provider = await open({ vaultKeyProvider: 'local', vaultKey, vaultKeyPrevious });
  assert.equal((await provider.unwrap(wrapped, identity)).toString(), 'a key');
  assert.equal(provider.wrappingKeyName, createLocalKeyProvider(vaultKey).wrappingKeyName);
  assert.equal(
    (await provider.wrap(Buffer.from('x'), identity)).wrappedBy,
    provider.wrappingKeyName,
  );
  const without = await open({ vaultKeyProvider: 'local', vaultKey });
  assert.ok(!without.canUnwrap(wrapped.wrappedBy));
  await assert.rejects(
    without.unwrap(wrapped, identity),
    /no key provider can unwrap keys of local:/,
  );
});

test('on the way to another provider the one before it is described as well', async () => {
  const provider = await open({
    vaultKeyProvider: 'aws-kms',
    vaultKmsKey: 'arn:aws:kms:eu-central-1:111122223333:alias/cards',
    awsAccessKeyId: 'AKIDEXAMPLEEXAMPLE',
    awsSecretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    vaultKey: Buffer.alloc(32, 9),
  });
  const local = createLocalKeyProvider(Buffer.alloc(32, 9));
  const wrapped = await local.wrap(Buffer.from('a key'), identity);
  assert.equal((await provider.unwrap(wrapped, identity)).toString(), 'a key');
  assert.match(provider.wrappingKeyName, /^aws-kms:arn:/);
  await provider.close();
  await assert.rejects(open({ vaultKeyProvider: 'local' }), /local has no key in the settings/);
});
