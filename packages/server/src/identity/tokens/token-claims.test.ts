// Tests every claim of the specification by scope: for users, for users at a device, and for applications.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { groupPermissions } from '@switchyard/contract';
import type { User } from '../accounts/types.ts';
import type { Application } from '../clients/application-record.ts';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import type { SignInDevice } from './authentication-claims.ts';
import {
  idTokenClaims,
  machineAccessTokenClaims,
  type UserTokenInput,
  userAccessTokenClaims,
  userInfoClaims,
} from './token-claims.ts';

const organizationId = '01990000-0000-7000-8000-000000000001';
const merchantId = '01990000-0000-7000-8000-000000000010';
const userId = '6a6e14c2-6f4b-4b5e-9d67-0d1d1f6d0a55';
const realm = { userDomainId: 'acme', issuer: 'https://auth.example/auth/realms/acme' } as Realm;

const application = {
  clientId: 'web',
  serviceAccountId: '7f0e9a30-1f30-4d3c-8f1e-3a3b8f2e6a11',
  entityType: 'tenant',
  entityId: organizationId,
  permissions: ['pay.read'],
} as unknown as Application;

const user: User = {
  organizationId,
  userId,
  username: 'ada',
  entityType: 'merchant',
  entityId: merchantId,
  scopeEntityType: 'merchant',
  scopeEntityId: merchantId,
  email: 'ada@example.com',
  emailVerified: true,
  givenName: 'Ada',
  familyName: 'Byron',
  phoneNumber: '+33612345678',
  phoneNumberVerified: false,
  address: { street_address: '12 quai de Valmy', locality: 'Paris', country: 'FR' },
  locale: 'fr-FR',
  zoneinfo: 'Europe/Paris',
  datetimeFormat: 'dd/MM/yyyy HH:mm',
  groups: [`${merchantId}_merchant_manager`],
  permissions: groupPermissions.merchant_manager,
  status: 'Enabled',
  secondFactor: 'On',
  hasPassword: true,
  version: 1,
  createdAt: 0,
  updatedAt: 0,
};

const device: SignInDevice = {
  type: 'PublicDevice',
  id: 'AXIUM_DX8000-10000001',
  methods: ['api', 'device_flow'],
  deviceId: '01990000-0000-7000-8000-000000000030',
  storeId: '01990000-0000-7000-8000-000000000020',
};

const issue = (facts: Partial<UserTokenInput> = {}): UserTokenInput => ({
  realm,
  application,
  user,
  scope: 'openid profile email',
  tokenId: '0d8c3e7e-7c8e-4f6e-8a52-8d2a6f1f2b10',
  sessionId: '5f0f7f0e-3d54-4c7b-9a54-1f9c9e6b4d21',
  issuedAt: 1_800_000_000,
  expiresAt: 1_800_000_300,
  methods: ['pwd', 'otp'],
  authenticatedAt: 1_799_999_999_500,
  ...facts,
});

const registered = {
  iss: realm.issuer,
  sub: userId,
  aud: 'web',
  azp: 'web',
  iat: 1_800_000_000,
  nbf: 1_800_000_000,
  exp: 1_800_000_300,
  jti: '0d8c3e7e-7c8e-4f6e-8a52-8d2a6f1f2b10',
  sid: '5f0f7f0e-3d54-4c7b-9a54-1f9c9e6b4d21',
};
const custom = {
  user_domain: 'acme',
  groups: user.groups,
  entityId: merchantId,
  um_scope: { entityId: merchantId, entityType: 'merchant' },
  permissions: groupPermissions.merchant_manager,
};
const profile = {
  name: 'Ada Byron',
  given_name: 'Ada',
  family_name: 'Byron',
  preferred_username: 'ada',
  zoneinfo: 'Europe/Paris',
  locale: 'fr-FR',
  datetimeformat: 'dd/MM/yyyy HH:mm',
};
const email = { email: 'ada@example.com', email_verified: true };
const phone = { phone_number: '+33612345678', phone_number_verified: false };

describe('the tokens of a person', () => {
  const access = (scope: string, facts: Partial<UserTokenInput> = {}) =>
    userAccessTokenClaims(issue({ scope, ...facts }));
  const always = (scope: string) => ({ ...registered, client_id: 'web', typ: 'Bearer', scope });

  // Spec: CUSTOM-2 INFO-1 INFO-2 INFO-3 INFO-4 INFO-5 INFO-6 INFO-7
  test('contain the registered claims and the claims of their scopes, and no others', () => {
    for (const [scope, claims] of Object.entries({
      openid: {},
      profile: { ...profile, ...custom },
      email,
      phone,
      address: { address: user.address },
      auth: { '2fa': true },
      'openid profile email': { ...profile, ...custom, ...email },
    })) {
      assert.deepEqual(access(scope), { ...always(scope), ...claims }, scope);
    }
  });

  test('omit unknown claims', () => {
    const minimalUser = {
      ...user,
      givenName: undefined,
      locale: undefined,
      phoneNumber: undefined,
    };
    const info = userInfoClaims({ ...minimalUser, address: undefined }, 'profile phone address');
    assert.deepEqual(info, {
      name: 'Byron',
      family_name: 'Byron',
      preferred_username: 'ada',
      zoneinfo: 'Europe/Paris',
      datetimeformat: 'dd/MM/yyyy HH:mm',
    });
    assert.equal(
      userInfoClaims({ ...minimalUser, familyName: undefined }, 'profile')['name'],
      'ada',
    );
  });

  test('of a tenant user with access to one merchant name both', () => {
    const acting = { ...user, entityType: 'tenant', entityId: organizationId } as const;
    const claims = access('profile', { user: acting });
    assert.equal(claims['entityId'], organizationId);
    assert.deepEqual(claims['um_scope'], { entityId: merchantId, entityType: 'merchant' });
  });

  test('an ID token has its own typ, auth_time and nonce', () => {
    assert.deepEqual(idTokenClaims(issue({ nonce: 'n-1' })), {
      ...registered,
      typ: 'ID',
      auth_time: 1_799_999_999,
      nonce: 'n-1',
      ...profile,
      ...email,
      ...custom,
    });
    assert.equal('nonce' in idTokenClaims(issue()), false);
  });

  test('one factor sets 2fa to false', () => {
    assert.equal(access('auth', { methods: ['pwd'] })['2fa'], false);
  });
});

describe('the tokens of a device', () => {
  const location = { storeId: device.storeId, deviceId: device.deviceId };
  const expected = {
    device_type: 'PublicDevice',
    device_id: 'AXIUM_DX8000-10000001',
    method: 'api device_flow',
    '2fa': true,
  };

  // Spec: CUSTOM-6 SCOPE-1 SCOPE-2 SCOPE-3 SCOPE-4 SCOPE-5 IDENT-24
  test('name store and device id in every scope, the device with auth, the certificate if bound', () => {
    const narrow = userAccessTokenClaims(issue({ scope: 'openid', device }));
    assert.deepEqual(
      [narrow['storeId'], narrow['deviceId']],
      [location.storeId, location.deviceId],
    );
    assert.equal('device_id' in narrow, false);
    assert.equal('cnf' in narrow, false);
    const wide = userAccessTokenClaims(issue({ scope: 'auth', device, certificate: 'thumb' }));
    const { device_type, device_id, method, '2fa': twoFactors, cnf, scope } = wide;
    assert.deepEqual({ device_type, device_id, method, '2fa': twoFactors }, expected);
    assert.deepEqual(cnf, { 'x5t#S256': 'thumb' });
    assert.equal(scope, 'auth');
    const id = idTokenClaims(issue({ scope: 'openid auth', device, certificate: 'thumb' }));
    assert.equal(id['device_id'], expected.device_id);
    assert.equal('cnf' in id, false);
  });

  test('have only those permissions of their user that a device can have', () => {
    const rights = (permissions: User['permissions']) =>
      userAccessTokenClaims(issue({ scope: 'profile', device, user: { ...user, permissions } }))[
        'permissions'
      ];
    assert.deepEqual(rights(groupPermissions.merchant_manager), [
      'conf.read',
      'pay.sale',
      'pay.capture',
      'pay.refund',
      'pay.cancel',
      'pay.read',
      'dev.read',
    ]);
    assert.deepEqual(rights(groupPermissions.org_operator), [
      'conf.read',
      'pay.sale',
      'pay.read',
      'dev.read',
    ]);
    assert.deepEqual(rights([]), ['conf.read', 'dev.read']);
  });
});

describe('the tokens of an application', () => {
  const machine = (scope: string | undefined, facts: object = {}) => {
    const { user: _, sessionId: __, ...rest } = issue();
    return machineAccessTokenClaims({ ...rest, scope, ...facts });
  };
  const { sid: _, ...withoutSession } = registered;
  const always = {
    ...withoutSession,
    sub: application.serviceAccountId,
    client_id: 'web',
    typ: 'Bearer',
    user_domain: 'acme',
    entityId: organizationId,
    um_scope: { entityId: organizationId, entityType: 'tenant' },
    permissions: ['pay.read'],
    groups: [],
  };

  // Spec: SCOPE-6
  test('are the same in every scope, and with auth an external machine', () => {
    assert.deepEqual(machine('profile'), { ...always, scope: 'profile' });
    assert.deepEqual(machine(undefined), { ...always, scope: undefined });
    assert.deepEqual(machine('auth'), {
      ...always,
      scope: 'auth',
      device_type: 'ExternalMachine',
      device_id: 'web',
      method: 'api',
      '2fa': false,
    });
  });

  test('at a device name device, store and certificate', () => {
    const unattended = { ...device, type: 'UnattendedDevice', methods: ['api'] };
    assert.deepEqual(machine('auth', { device: unattended, certificate: 'thumb' }), {
      ...always,
      scope: 'auth',
      storeId: device.storeId,
      deviceId: device.deviceId,
      cnf: { 'x5t#S256': 'thumb' },
      device_type: 'UnattendedDevice',
      device_id: device.id,
      method: 'api',
      '2fa': false,
    });
  });
});
