// All callers of the published permission table: a user of each group, an application of each role,
// a device.
import assert from 'node:assert/strict';
import {
  type GroupName,
  groupLevels,
  groupPermissions,
  type Permission,
  type RoleName,
  rolePermissions,
} from '@switchyard/contract';
import { signAccessToken } from '../support/identity/signed-access-tokens.ts';
import { createTestUser, passwordForm } from '../support/identity/test-users.ts';
import type { TestOrganization } from '../support/test-organization.ts';
import type { MatrixTenant } from './permission-matrix-organizations.ts';

export type MatrixCaller = {
  readonly name: string;
  readonly level: 'tenant' | 'merchant';
  /** The permissions of the published table, not those of the token. */
  readonly granted: ReadonlySet<Permission>;
  readonly isDevice: boolean;
  /** The caller belongs to an organisation below the organisation of the other callers. */
  readonly isBelow?: boolean;
  /** The members of a payment that the token determines. */
  readonly fixed: ReadonlySet<string>;
  readonly token: string;
};

const groups = Object.keys(groupPermissions) as GroupName[];
const roles = Object.keys(rolePermissions) as RoleName[];

/** The operator acts for the platform, never for a merchant. */
const merchantRoles = roles.filter((role) => role !== 'PlatformOperator');
const storeRoles: readonly RoleName[] = ['PointOfSaleTerminal'];

async function publicClient({
  platform,
  organizationId,
  realm,
}: TestOrganization): Promise<string> {
  const { clientId } = await platform.identity.createPublicApplication({
    organizationId,
    userDomainId: realm,
    name: 'Sign-in',
    roles: [],
    entityType: 'tenant',
    entityId: organizationId,
    securityFlows: ['Password'],
  });
  return clientId;
}

/** Signs in as a user, so that the server issues a user token. */
async function userOf(
  setup: TestOrganization,
  group: GroupName,
  clientId: string,
): Promise<MatrixCaller> {
  const isOfMerchant = groupLevels[group] === 'merchant';
  const { platform, organizationId, realm, merchant, client } = setup;
  const where = { identity: platform.identity, organizationId, userDomainId: realm };
  const facts = isOfMerchant ? { merchantId: merchant.merchantId } : {};
  const person = await createTestUser(where, { ...facts, group });
  const { body, text } = await client.call('POST', `/oauth2/v1/${realm}/token`, {
    raw: new URLSearchParams(passwordForm(person, clientId)).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.ok(body.access_token, text);
  return {
    name: `group ${group}`,
    level: isOfMerchant ? 'merchant' : 'tenant',
    granted: new Set(groupPermissions[group]),
    isDevice: false,
    fixed: new Set(isOfMerchant ? ['merchantId'] : []),
    token: body.access_token,
  };
}

async function tenantRole(setup: TestOrganization, role: RoleName): Promise<MatrixCaller> {
  const { organizationId: entityId } = setup;
  const token = await setup.tokenFor({ name: role, entityType: 'tenant', entityId, roles: [role] });
  const granted = new Set<Permission>(rolePermissions[role]);
  const fixed = new Set<string>();
  return { name: `role ${role}`, level: 'tenant', granted, isDevice: false, fixed, token };
}

async function merchantRole(setup: TestOrganization, role: RoleName): Promise<MatrixCaller> {
  const { merchantId, storeId } = setup.merchant;
  const token = await setup.tokenFor({
    name: role,
    entityType: 'merchant',
    entityId: merchantId,
    merchantId,
    roles: [role],
    ...(storeRoles.includes(role) ? { storeId } : {}),
  });
  const granted = new Set<Permission>(rolePermissions[role]);
  const fixed = new Set(['merchantId', ...(storeRoles.includes(role) ? ['storeId'] : [])]);
  const name = `role ${role} of a merchant`;
  return { name, level: 'merchant', granted, isDevice: false, fixed, token };
}

/** A token as the device listener signs it, for the first till of the merchant. */
async function device(setup: TestOrganization): Promise<MatrixCaller> {
  const { storeId, deviceIds } = setup.merchant;
  const permissions = [...rolePermissions.Device];
  const token = await signAccessToken(setup, { permissions, storeId, deviceId: deviceIds[0] });
  const granted = new Set<Permission>(permissions);
  const fixed = new Set(['merchantId', 'storeId', 'deviceId']);
  return { name: 'a device', level: 'merchant', granted, isDevice: true, fixed, token };
}

/** Its parent organisation is neither visible to it nor changeable by it. */
async function administratorBelow({ setup, below }: MatrixTenant): Promise<MatrixCaller> {
  const { organizationId = '', userDomainId = '' } = below;
  const role = 'AcquirerAdministrator';
  const { clientId, clientSecret } = await setup.platform.identity.createApplication({
    organizationId,
    userDomainId,
    name: role,
    roles: [role],
    entityType: 'tenant',
    entityId: organizationId,
    securityFlows: ['ClientCredentials'],
  });
  return {
    name: `role ${role} of an organisation below`,
    level: 'tenant',
    isDevice: false,
    granted: new Set<Permission>(rolePermissions[role]),
    fixed: new Set(),
    isBelow: true,
    token: await setup.client.token(userDomainId, clientId, clientSecret),
  };
}

export async function createMatrixCallers(tenant: MatrixTenant): Promise<readonly MatrixCaller[]> {
  const { setup } = tenant;
  const clientId = await publicClient(setup);
  return [
    ...(await Promise.all(groups.map((group) => userOf(setup, group, clientId)))),
    ...(await Promise.all(roles.map((role) => tenantRole(setup, role)))),
    ...(await Promise.all(merchantRoles.map((role) => merchantRole(setup, role)))),
    await device(setup),
    await administratorBelow(tenant),
  ];
}
