import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  groupLevels,
  groupPermissions,
  permissions,
  roleNamed,
  rolePermissions,
  roleTitles,
} from './permissions.ts';

const expand = (rights: string) =>
  permissions.filter((permission) =>
    rights.split(' ').some((right) => right === permission || permission.startsWith(`${right}.`)),
  );

/** The permissions of each group: a whole area, or one permission of it. */
const rightsOfGroups = {
  org_admin: 'prov um conf sub app rep onb svc hook audit',
  org_custcare: 'prov.read rep.read',
  org_dfo: 'dev prov.read',
  org_dev: 'app svc hook',
  merchant_manager: 'prov um conf pay rep hook',
  merchant_dev: 'app hook pay.read',
  org_supervisor: 'prov.read rep.read pay.read pay.refundbyweb',
  org_operator: 'pay.sale pay.read',
};

// Spec: SVC-39 GRP-1 GRP-2 GRP-3 GRP-4 GRP-5 GRP-6 GRP-7 IDENT-47
test('each group has the permissions of its rights, and no other', () => {
  assert.deepEqual(Object.keys(groupPermissions), Object.keys(rightsOfGroups));
  assert.deepEqual(Object.keys(groupLevels), Object.keys(rightsOfGroups));
  for (const [group, rights] of Object.entries(rightsOfGroups)) {
    const granted = groupPermissions[group as keyof typeof groupPermissions];
    assert.deepEqual(granted.toSorted(), expand(rights).toSorted(), group);
  }
});

test('no permission is listed twice, and each belongs to a group or role', () => {
  const rows = [...Object.values(groupPermissions), ...Object.values(rolePermissions)];
  for (const row of rows) assert.equal(new Set<string>(row).size, row.length);
  assert.deepEqual(new Set(rows.flat()), new Set(permissions));
});

test('a till neither refunds by web nor makes approval codes nor reports', () => {
  for (const role of ['PointOfSaleTerminal', 'Device'] as const) {
    const granted: ReadonlySet<string> = new Set(rolePermissions[role]);
    assert.ok(granted.has('pay.sale') && granted.has('pay.refund'), role);
    for (const refused of ['pay.refundbyweb', 'pay.approve', 'rep.read', 'prov.write']) {
      assert.equal(granted.has(refused), false, `${role} ${refused}`);
    }
  }
  assert.ok(rolePermissions.PointOfSaleTerminal.includes('cc.pos'));
});

test('only the operator of the platform may approve sign-ups by an application', () => {
  for (const [role, granted] of Object.entries(rolePermissions)) {
    const mayApprove = (granted as readonly string[]).includes('onb.approve');
    assert.equal(mayApprove, role === 'PlatformOperator', role);
  }
});

test('roles are found by identifier and by title', () => {
  assert.equal(roleNamed('Point-of-sale Terminal'), 'PointOfSaleTerminal');
  assert.equal(roleNamed('PointOfSaleTerminal'), 'PointOfSaleTerminal');
  assert.equal(roleNamed('toString'), undefined);
  assert.deepEqual(Object.keys(roleTitles), Object.keys(rolePermissions));
});
