import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from 'typebox';
import { allowsActingOnBehalf, withOrganizationParameter } from './act-on-behalf-of.ts';
import type { RouteDeclaration } from './route-declaration.ts';

const facts: RouteDeclaration = {
  method: 'GET',
  url: '/sample/v1/things',
  operationId: 'listThings',
  summary: 'List things',
  tags: [],
  permission: 'prov.read',
  response: { 200: null },
  errors: ['cursor_invalid'],
};

describe('acting on behalf of an organisation below', () => {
  test('is possible for administrative routes, and not for payments or device operations', () => {
    for (const permission of ['prov.write', 'um.read', 'app.write', 'audit.read'] as const) {
      assert.equal(allowsActingOnBehalf(permission), true, permission);
    }
    assert.equal(allowsActingOnBehalf(['svc.read', 'sub.read', 'conf.read']), true);
    const others = [
      'pay.sale',
      'pay.read',
      'dev.read',
      'cc.pos',
      'spi.events',
      'onb.approve',
    ] as const;
    for (const permission of others)
      assert.equal(allowsActingOnBehalf(permission), false, permission);
    for (const access of ['public', 'token', 'certificate'] as const) {
      assert.equal(allowsActingOnBehalf(access), false, access);
    }
  });

  test('is not possible when the route accepts another permission as well', () => {
    assert.equal(allowsActingOnBehalf(['dev.write', 'prov.write']), false);
    assert.equal(allowsActingOnBehalf(['pay.read', 'rep.read']), false);
  });

  test('adds its parameter and its error to the declaration of the route', () => {
    const query = Type.Object({ name: Type.String() }, { additionalProperties: false });
    const declared = withOrganizationParameter({ ...facts, query });
    const { properties, ...rest } = declared.query as typeof query;
    assert.deepEqual(Object.keys(properties), ['name', 'organizationId']);
    assert.deepEqual(rest, { type: 'object', required: ['name'], additionalProperties: false });
    assert.deepEqual(declared.errors, ['cursor_invalid', 'organization_not_found']);
    const paying: RouteDeclaration = { ...facts, permission: 'pay.read' };
    assert.equal(withOrganizationParameter(paying), paying);
  });

  test('a route with its own organizationId parameter is rejected', () => {
    const query = Type.Object({ organizationId: Type.String() });
    assert.throws(
      () => withOrganizationParameter({ ...facts, query }),
      /declares organizationId itself/,
    );
  });
});
