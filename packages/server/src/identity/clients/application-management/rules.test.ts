// Tests which redirect URIs an application may register, and which roles a caller may assign.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  groupPermissions,
  type Permission,
  type RoleName,
  rolePermissions,
} from '@switchyard/contract';
import {
  draftFaults,
  draftFromInput,
  findForbiddenRole,
  originFault,
  redirectFault,
} from './rules.ts';

const anywhere = { isPublic: false, allowsLoopback: false };
const app = { isPublic: true, allowsLoopback: false };
const demo = { isPublic: false, allowsLoopback: true };

describe('a redirect address', () => {
  test('is an absolute https address', () => {
    for (const uri of [
      'https://shop.example/callback',
      'https://shop.example',
      'https://shop.example:8443/a/b?tenant=7&x=%20',
      'https://[2001:db8::1]/callback',
    ]) {
      assert.equal(redirectFault(uri, anywhere), undefined, uri);
    }
  });

  test('has no fragment, wildcard or user, and no characters that a URL parser changes', () => {
    for (const uri of [
      'https://shop.example/#done',
      'https://shop.example/callback#',
      'https://*.shop.example/callback',
      'https://shop.example/*',
      'https://user@shop.example/',
      'https://user:word@shop.example/',
      'https:shop.example/callback',
      'https:/shop.example/callback',
      'https:\\\\shop.example\\callback',
      'https://shop.example/a\tb',
      'https://shop.example/a b',
      ' https://shop.example/',
      'https://shop.example/"',
      'https://bücher.example/',
      '//shop.example/callback',
      '/callback',
      'callback',
      '',
    ]) {
      assert.notEqual(redirectFault(uri, demo), undefined, uri);
    }
  });

  test('is http only on localhost, in the demo and in tests', () => {
    for (const uri of ['http://localhost:3000/cb', 'http://127.0.0.1/cb', 'http://[::1]:80/cb']) {
      assert.equal(redirectFault(uri, demo), undefined, uri);
      assert.notEqual(redirectFault(uri, anywhere), undefined, uri);
    }
    for (const uri of [
      'http://shop.example/cb',
      'http://127.0.0.1.shop.example/',
      'http://10.0.0.1/',
    ]) {
      assert.notEqual(redirectFault(uri, demo), undefined, uri);
    }
  });

  test('has a private-use scheme only for a public app, with a domain name in it', () => {
    assert.equal(redirectFault('com.example.till:/signed-in', app), undefined);
    assert.notEqual(redirectFault('com.example.till:/signed-in', anywhere), undefined);
    for (const uri of [
      'till:/signed-in',
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/hosts',
      'ftp://shop.example/',
      'blob:https://shop.example/1',
    ]) {
      assert.notEqual(redirectFault(uri, { isPublic: true, allowsLoopback: true }), undefined, uri);
    }
  });
});

test('a web origin must have the exact form of the browser’s Origin header', () => {
  for (const origin of ['https://shop.example', 'https://shop.example:8443']) {
    assert.equal(originFault(origin, false), undefined, origin);
  }
  assert.equal(originFault('http://localhost:5173', true), undefined);
  for (const origin of [
    'http://localhost:5173',
    'http://shop.example',
    'https://shop.example/',
    'https://shop.example:443',
    'https://Shop.example',
    'https://shop.example/path',
    'https://*.shop.example',
    'com.example.till:/',
    'null',
    '*',
    '+',
  ]) {
    assert.notEqual(originFault(origin, false), undefined, origin);
  }
});

describe('a draft', () => {
  const faultsOf = (input: object, isPublic = false) =>
    draftFaults(draftFromInput({ name: 'x', ...input }, isPublic), false).map(
      ({ pointer, code }) => `${pointer} ${code}`,
    );
  const page = { redirectUris: ['https://shop.example/cb'], webOrigins: ['https://shop.example'] };

  // Spec: APP-6
  test('for the code flow needs redirect URIs and web origins', () => {
    const securityFlows = ['AuthorizationCode'];
    assert.deepEqual(faultsOf({ securityFlows, ...page }), []);
    assert.deepEqual(faultsOf({ securityFlows }), [
      '/redirectUris field_required',
      '/webOrigins field_required',
    ]);
    assert.deepEqual(faultsOf({ securityFlows, ...page, webOrigins: [] }), [
      '/webOrigins field_required',
    ]);
    const native = { securityFlows, redirectUris: ['com.example.till:/cb'] };
    assert.deepEqual(faultsOf(native, true), [], 'an app without a page has no origin');
    assert.deepEqual(faultsOf({ redirectUris: ['https://a.example', 'x'], webOrigins: ['y'] }), [
      '/redirectUris/1 field_invalid',
      '/webOrigins/0 field_invalid',
    ]);
  });

  test('of a native app does not mix a private-use scheme with https on localhost', () => {
    const securityFlows = ['AuthorizationCode'];
    const redirectUris = ['com.example.till:/cb', 'https://localhost:4000/cb'];
    const { webOrigins } = page;
    assert.deepEqual(faultsOf({ securityFlows, redirectUris, webOrigins }, true), [
      '/redirectUris/1 field_invalid',
    ]);
  });

  test('of a public application has no client credentials', () => {
    assert.deepEqual(faultsOf({}, true), ['/securityFlows field_invalid']);
    assert.deepEqual(faultsOf({ securityFlows: ['Password'] }, true), []);
  });

  // Spec: APP-8
  test('for the Cloud Connector has the defaults of the specification', () => {
    const type = 'CloudApiApplication';
    const { services, roles, securityFlows } = draftFromInput({ name: 'x', type }, false);
    assert.deepEqual(
      [services, roles, securityFlows],
      [['RetailApi'], ['PointOfSaleTerminal'], ['ClientCredentials']],
    );
    const input = { type, services: ['Retail API'], roles: ['Point-of-sale Terminal'] };
    assert.deepEqual(faultsOf(input), []);
    const without = { type, services: [], roles: ['Merchant'], securityFlows: ['Password'] };
    assert.deepEqual(faultsOf(without), [
      '/securityFlows field_invalid',
      '/services field_invalid',
      '/roles field_invalid',
    ]);
  });

  test('names existing roles', () => {
    assert.deepEqual(faultsOf({ roles: ['Merchant', 'King'] }), ['/roles/1 field_invalid']);
  });
});

describe('roles that a caller may assign', () => {
  const all = Object.keys(rolePermissions) as RoleName[];
  const allowedRoles = (permissions: readonly Permission[]) =>
    all.filter((role) => findForbiddenRole([role], new Set(permissions)) === undefined);
  const working: RoleName[] = [
    'PointOfSaleTerminal',
    'Merchant',
    'MerchantReadOnly',
    'MerchantDeveloper',
    'ServiceProvider',
    'Device',
  ];

  test('a developer assigns operational roles, but no administrative ones', () => {
    assert.deepEqual(allowedRoles(groupPermissions.org_dev), working);
    assert.deepEqual(allowedRoles(groupPermissions.merchant_dev), working);
    // app.write or um.write is needed to assign the role; pay.write is not enough.
    assert.equal(
      allowedRoles(groupPermissions.merchant_manager).includes('MerchantDeveloper'),
      true,
    );
    assert.equal(allowedRoles(groupPermissions.org_operator).includes('MerchantDeveloper'), false);
  });

  test('an administrator assigns administrative roles too, but never the platform operator', () => {
    const managing = [
      'Onboarding',
      ...working.slice(0, 4),
      'AcquirerAdministrator',
      'ServiceProvider',
      'Device',
    ];
    assert.deepEqual(allowedRoles(groupPermissions.org_admin), managing);
    assert.deepEqual(allowedRoles(rolePermissions.AcquirerAdministrator), managing);
    assert.equal(
      findForbiddenRole(
        ['Merchant', 'PlatformOperator'],
        new Set(rolePermissions.PlatformOperator),
      ),
      'PlatformOperator',
    );
  });
});
