/** Which roles may open which screens of the portal: a list of its own, beside the table of the portal. */

/** The groups of users, with the demo user of each. */
export const users = {
  org_admin: 'admin',
  org_custcare: 'care',
  org_dfo: 'fleet',
  org_dev: 'developer',
  merchant_manager: 'manager',
  merchant_dev: 'merchant-developer',
  org_supervisor: 'supervisor',
  org_operator: 'operator',
} as const;

export type Role = keyof typeof users;
/** A path with the parameters of its route, and a query. `axe`: no other test checks its accessibility. */
export type RoleScreen = readonly [path: string, roles: readonly Role[], isForAxe?: 'axe'];

/** Users of these groups belong to one merchant. */
export const merchantRoles: readonly Role[] = [
  'merchant_manager',
  'merchant_dev',
  'org_supervisor',
  'org_operator',
];

const all = Object.keys(users) as Role[];
const admin: readonly Role[] = ['org_admin'];
const reporting: readonly Role[] = [
  'org_admin',
  'org_custcare',
  'merchant_manager',
  'org_supervisor',
];
const ofPayments: readonly Role[] = ['merchant_manager', 'org_supervisor', 'org_operator'];
const sellers: readonly Role[] = ['merchant_manager', 'org_operator'];
const ofOrganization: readonly Role[] = ['org_admin', 'org_custcare', 'org_dfo'];
const lookers: readonly Role[] = [...ofOrganization, 'merchant_manager', 'org_supervisor'];
const managers: readonly Role[] = ['org_admin', 'merchant_manager'];
const developers: readonly Role[] = ['org_admin', 'org_dev', 'merchant_dev'];
/** The users that approve applications can also see them. */
const ofApplications: readonly Role[] = [...developers, 'merchant_manager'];
const hookReaders = ofApplications;

/** The navigation from top to bottom, with the roles that see each entry. */
export const rail: readonly RoleScreen[] = [
  ['/', all],
  ['/analytics', reporting],
  ['/payments', reporting],
  ['/qr-payments', [...ofPayments, 'merchant_dev']],
  ['/virtual-terminal', sellers],
  ['/settlements', reporting],
  ['/merchants', lookers],
  ['/stores', lookers, 'axe'],
  ['/devices', lookers],
  ['/points-of-sale', lookers],
  ['/acquirers', ofOrganization],
  ['/imports', managers, 'axe'],
  ['/services', managers],
  ['/exports', managers, 'axe'],
  ['/reconciliations', ['org_admin', 'org_custcare'], 'axe'],
  ['/users', managers, 'axe'],
  ['/sign-ups', admin],
  ['/claim-conflicts', admin],
  ['/configuration', managers],
  ['/health', admin, 'axe'],
  ['/applications', ofApplications],
  ['/webhooks', hookReaders],
  ['/events', hookReaders],
  ['/console', hookReaders],
  ['/test-cards', all],
  ['/logs', hookReaders, 'axe'],
  ['/audit', admin, 'axe'],
];

const merchant = '/merchants/$merchantId';
const application = '/applications/$clientId';

/** The detail screens behind those of the navigation. */
export const innerScreens: readonly RoleScreen[] = [
  ['/payments/$transactionId', [...reporting, 'org_operator', 'merchant_dev']],
  ['/merchants/new', admin],
  [merchant, lookers],
  [`${merchant}?tab=stores`, lookers],
  [`${merchant}?tab=devices`, lookers],
  [`${merchant}?tab=contracts`, lookers],
  [`${merchant}?tab=people`, lookers],
  [`${merchant}?tab=settings`, lookers],
  [`${merchant}/edit`, managers, 'axe'],
  [`${merchant}/contracts/new`, admin, 'axe'],
  [`${merchant}/contracts/$contractId`, lookers],
  [`${merchant}/contracts/$contractId/edit`, admin, 'axe'],
  ['/stores/new', managers, 'axe'],
  ['/stores/$storeId', lookers],
  ['/stores/$storeId/edit', managers, 'axe'],
  ['/logical-devices/new?storeId=$storeId', managers, 'axe'],
  ['/logical-devices/$logicalDeviceId', lookers, 'axe'],
  ['/logical-devices/$logicalDeviceId/edit', managers, 'axe'],
  ['/devices/new', managers, 'axe'],
  ['/devices/$physicalDeviceId', lookers],
  ['/devices/$physicalDeviceId/edit', managers, 'axe'],
  ['/points-of-sale/new?storeId=$storeId', managers, 'axe'],
  ['/points-of-sale/$pointOfSaleId', lookers, 'axe'],
  ['/points-of-sale/$pointOfSaleId/edit', managers, 'axe'],
  ['/imports/new', managers],
  ['/acquirers/new', admin, 'axe'],
  ['/acquirers/$acquirerLinkId', ofOrganization],
  ['/acquirers/$acquirerLinkId/edit', admin, 'axe'],
  ['/services/$serviceId', managers],
  ['/service-packages', admin],
  ['/users/$userId', managers, 'axe'],
  ['/configuration?level=stores&entityId=$storeId&serviceId=$serviceId', managers],
  ['/applications/new', developers],
  [application, ofApplications],
  [`${application}/edit`, developers],
  ['/webhooks/deliveries', hookReaders],
  ['/console/events', hookReaders],
  ['/console/errors', hookReaders],
  ['/audit/$sequence', admin, 'axe'],
];
