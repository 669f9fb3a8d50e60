/** Permissions, and the table from user groups and application roles to permissions. */

/**
 * Every permission, as in the `permissions` claim of a token.
 *
 * @example
 * permissions.includes('pay.sale'); // true
 */
export const permissions = [
  'prov.read',
  'prov.write',
  'um.read',
  'um.write',
  'app.read',
  'app.write',
  'sub.read',
  'sub.write',
  'conf.read',
  'conf.write',
  'svc.read',
  'svc.write',
  'hook.read',
  'hook.write',
  'pay.sale',
  'pay.capture',
  'pay.refund',
  'pay.cancel',
  'pay.read',
  'pay.refundbyweb',
  'pay.approve',
  'rep.read',
  'rep.export',
  'onb.write',
  'onb.approve',
  'dev.read',
  'dev.write',
  'cc.pos',
  'spi.events',
  'audit.read',
] as const;

/**
 * One permission.
 *
 * @example
 * const needed: Permission = 'pay.capture';
 */
export type Permission = (typeof permissions)[number];

const provisioning = ['prov.read', 'prov.write'] as const;
const userManagement = ['um.read', 'um.write'] as const;
const applicationManagement = ['app.read', 'app.write'] as const;
const subscriptions = ['sub.read', 'sub.write'] as const;
const configuration = ['conf.read', 'conf.write'] as const;
const services = ['svc.read', 'svc.write'] as const;
const webhooks = ['hook.read', 'hook.write'] as const;
const reporting = ['rep.read', 'rep.export'] as const;
const devices = ['dev.read', 'dev.write'] as const;
const cardOperations = ['pay.sale', 'pay.capture', 'pay.refund', 'pay.cancel', 'pay.read'] as const;
const merchantDevelopment = [...applicationManagement, ...webhooks, 'pay.read'] as const;
const allPayments = [...cardOperations, 'pay.refundbyweb', 'pay.approve'] as const;

/**
 * The level of a group: its users belong to an organisation or to a merchant.
 *
 * @example
 * groupLevels.merchant_manager; // 'merchant'
 */
export const groupLevels = {
  org_admin: 'organization',
  org_custcare: 'organization',
  org_dfo: 'organization',
  org_dev: 'organization',
  merchant_manager: 'merchant',
  merchant_dev: 'merchant',
  org_supervisor: 'merchant',
  org_operator: 'merchant',
} as const;

/**
 * A predefined group without its leading identifier: `{organizationId}_org_admin` is `org_admin`.
 *
 * @example
 * const group: GroupName = 'org_operator';
 */
export type GroupName = keyof typeof groupLevels;

/**
 * The purpose of each group, in the words of the specification.
 *
 * @example
 * groupRights.org_custcare; // 'Provisioning and reporting data.'
 */
export const groupRights: Readonly<Record<GroupName, string>> = {
  org_admin:
    'Onboarding (provisioning, user management, configuration), application management, transaction reporting.',
  org_custcare: 'Provisioning and reporting data.',
  org_dfo: 'Device fleet operator: manages the devices of the organisation.',
  org_dev: 'Developer: manages applications.',
  merchant_manager:
    'Administration (provisioning, user management, configuration), all payment actions, transaction reporting, webhooks.',
  merchant_dev: 'Developer: manages the applications and webhooks of the merchant.',
  org_supervisor: 'Provisioning and reporting data, refunds by web.',
  org_operator: 'Debits.',
};

/**
 * The permissions of each group, from the rights in the specification.
 *
 * `onb.approve` acts on sign-ups, which belong to the platform's own organisation. An administrator
 * of another organisation also has this permission, but sees an empty list. The same applies to
 * conflicts about terminals, which the operator resolves.
 *
 * @example
 * groupPermissions.org_operator; // ['pay.sale', 'pay.read']
 */
export const groupPermissions: Readonly<Record<GroupName, readonly Permission[]>> = {
  org_admin: [
    ...provisioning,
    ...userManagement,
    ...configuration,
    ...subscriptions,
    ...applicationManagement,
    ...reporting,
    'onb.write',
    'onb.approve',
    ...services,
    ...webhooks,
    'audit.read',
  ],
  org_custcare: ['prov.read', 'rep.read'],
  org_dfo: [...devices, 'prov.read'],
  org_dev: [...applicationManagement, ...services, ...webhooks],
  merchant_manager: [
    ...provisioning,
    ...userManagement,
    ...configuration,
    ...allPayments,
    ...reporting,
    ...webhooks,
  ],
  merchant_dev: [...merchantDevelopment],
  org_supervisor: ['prov.read', 'rep.read', 'pay.read', 'pay.refundbyweb'],
  org_operator: ['pay.sale', 'pay.read'],
};

/**
 * The permissions of each application role.
 *
 * A till makes and corrects sales and may claim a device. It cannot refund by web or make approval
 * codes, so that the user at the till cannot approve a refund.
 *
 * @example
 * rolePermissions.MerchantReadOnly; // ['prov.read', 'rep.read', 'pay.read']
 */
export const rolePermissions = {
  Onboarding: [...provisioning, ...userManagement, ...configuration, ...subscriptions, 'onb.write'],
  PointOfSaleTerminal: [...cardOperations, 'cc.pos'],
  Merchant: ['prov.read', ...allPayments, ...reporting],
  MerchantReadOnly: ['prov.read', 'rep.read', 'pay.read'],
  MerchantDeveloper: [...merchantDevelopment],
  AcquirerAdministrator: [
    ...provisioning,
    ...userManagement,
    ...configuration,
    ...subscriptions,
    ...applicationManagement,
    ...reporting,
    'onb.write',
    ...services,
    ...webhooks,
    ...devices,
    'audit.read',
  ],
  PlatformOperator: ['onb.write', 'onb.approve', ...provisioning, 'audit.read'],
  ServiceProvider: ['spi.events', ...services, ...webhooks],
  Device: [...cardOperations, 'conf.read', 'dev.read'],
} as const satisfies Record<string, readonly Permission[]>;

/**
 * A role that an application can hold.
 *
 * @example
 * const role: RoleName = 'PointOfSaleTerminal';
 */
export type RoleName = keyof typeof rolePermissions;

/**
 * The names of the roles in portals.
 *
 * @example
 * roleTitles.PointOfSaleTerminal; // 'Point-of-sale Terminal'
 */
export const roleTitles: Readonly<Record<RoleName, string>> = {
  Onboarding: 'Onboarding',
  PointOfSaleTerminal: 'Point-of-sale Terminal',
  Merchant: 'Merchant',
  MerchantReadOnly: 'Merchant (read only)',
  MerchantDeveloper: 'Merchant Developer',
  AcquirerAdministrator: 'Acquirer Administrator',
  PlatformOperator: 'Platform Operator',
  ServiceProvider: 'Service Provider',
  Device: 'Device',
};

/**
 * Finds a role by its identifier or its title.
 *
 * @param name - `PointOfSaleTerminal` or `Point-of-sale Terminal`
 * @returns the identifier, or undefined if the role does not exist
 * @example
 * roleNamed('Point-of-sale Terminal'); // 'PointOfSaleTerminal'
 */
export function roleNamed(name: string): RoleName | undefined {
  const roles = Object.keys(roleTitles) as RoleName[];
  return roles.find((role) => role === name || roleTitles[role] === name);
}
