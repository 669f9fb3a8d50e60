// Two organisations with one object of every kind for the permission matrix, which tests by owner.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { bucketSql, systemIdGenerator } from '../../src/platform/index.ts';
import { encodeSettlementId } from '../../src/reporting/settlements/settlement-id.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { createTestUser } from '../support/identity/test-users.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createCertificateRequest } from '../support/provisioning/test-devices.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';

/** Identifiers, by the name of the path parameter or body member. */
export type EntityIds = Readonly<Record<string, string>>;

export type MatrixTenant = {
  readonly setup: TestOrganization;
  /** Objects of all levels: an organisation shares them with its merchants. */
  readonly shared: EntityIds;
  readonly organization: EntityIds;
  readonly merchant: EntityIds;
  readonly otherMerchant: EntityIds;
  /** Objects of an organisation below this one, which has its own user domain. */
  readonly below: EntityIds;
};

const serviceBase = '/service-catalog/v1';
const declaration = {
  name: 'QR',
  domain: 'Payments',
  parameterSchema: { type: 'object', properties: { greeting: { type: 'string' } } },
};

/** Creates an object and asserts success. */
async function createEntity(
  setup: TestOrganization,
  path: string,
  body: unknown,
  token = setup.acquirerToken,
) {
  const answer = await setup.client.call('POST', path, { token, body });
  assert.ok(answer.status < 300, `${path}: ${answer.text}`);
  return answer.body;
}

async function createHardware(
  setup: TestOrganization,
  { merchantId }: TestMerchant,
): Promise<EntityIds> {
  const serialNumber = String(50_000_000 + Math.floor(Math.random() * 40_000_000));
  const hardware = { merchantId, serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium' };
  const { physicalDeviceId } = await createEntity(
    setup,
    '/provisioning/v2/physical-devices',
    hardware,
  );
  const path = `/provisioning/v2/physical-devices/${physicalDeviceId}/certificates`;
  const { csr } = await createCertificateRequest();
  const { thumbprint } = await createEntity(setup, path, { certificateRequest: csr });
  return { physicalDeviceId, thumbprint, physicalDeviceIds: physicalDeviceId };
}

async function applicationOf(setup: TestOrganization, entityId: string): Promise<string> {
  const path = `/application-management/v1/user-domains/${setup.realm}/applications`;
  const body = { name: 'A till', roles: ['PointOfSaleTerminal'], entityId };
  return (await createEntity(setup, path, body)).clientId;
}

async function paymentsOf(
  setup: TestOrganization,
  { token, storeId, deviceIds }: TestMerchant,
): Promise<EntityIds> {
  const [deviceId = ''] = deviceIds;
  const sale = keyedSale({ captureMode: 'Deferred', storeId, deviceId });
  const { transactionId } = await createEntity(
    setup,
    '/payment/v1/transactions/process',
    sale,
    token,
  );
  // The first operation, for routes with an operation number.
  await createEntity(
    setup,
    `/payment/v1/transactions/${transactionId}/capture`,
    { amount: 1 },
    token,
  );
  const selection = { storeId, currency: 'JPY' };
  const all = await createEntity(setup, '/payment/v1/transactions/captureall', selection, token);
  const codes = '/payment/v1/approval-codes';
  const { approvalCodeId } = await createEntity(setup, codes, { name: 'Shift lead' }, token);
  const { batchId } = all;
  return { transactionId, batchId, approvalCodeId, deviceId, logicalDeviceId: deviceId };
}

/** Its provider has no server, so the payment does not change. */
async function qrPaymentOf(
  setup: TestOrganization,
  merchant: TestMerchant,
  serviceId: string,
): Promise<EntityIds> {
  const qrTransactionId = systemIdGenerator.uuid();
  const { merchantId, storeId, deviceIds } = merchant;
  const { organizationId } = setup;
  const database = await testDatabase();
  await database.query(
    `INSERT INTO qr_transactions (bucket, organization_id, transaction_id, merchant_id, store_id, device_id,
       client_transaction_id, service_id, provider_id, status, phase, amount, currency, paid,
       refunded, refund_reserved, provider_sequence, provider_events, version, operation_count,
       looks, expires_at, facts, created_at, updated_at)
     VALUES (${bucketSql('$2::uuid')}, $1, $2, $3, $4, $5, $6, $7, $1, 'Pending', 'Pending', 100, 'EUR', 0, 0, 0, 0, 0, 1, 0,
       0, now() + interval '1 day', $8, now(), now())`,
    [
      organizationId,
      qrTransactionId,
      merchantId,
      storeId,
      deviceIds[0],
      qrTransactionId,
      serviceId,
      { paymentType: 'x', paymentScenario: 'x', scenario: 'consumerscan', request: {} },
    ],
  );
  return { qrTransactionId };
}

/** A settlement of a day without other payments. */
async function settlementOf(
  setup: TestOrganization,
  { merchantId }: TestMerchant,
): Promise<EntityIds> {
  const key = { day: '2020-03-01', acquirerLinkId: setup.linkId, merchantId, currency: 'EUR' };
  const database = await testDatabase();
  await database.query(
    `INSERT INTO report_settlements (organization_id, settlement_date, link_id, merchant_id, currency,
       captures, captured, refunds, refunded, reversals, reversed, pending_captures, pending, updated_at)
     VALUES ($1, $2, $3, $4, $5, 1, 100, 0, 0, 0, 0, 0, 0, now())`,
    [setup.organizationId, key.day, key.acquirerLinkId, key.merchantId, key.currency],
  );
  return { settlementId: encodeSettlementId(key) };
}

/** A terminal in its place, and a message that was sent to it. */
async function retailOf(
  setup: TestOrganization,
  { merchantId, storeId }: TestMerchant,
): Promise<EntityIds> {
  const serialNumber = String(50_000_000 + Math.floor(Math.random() * 40_000_000));
  const hardware = { merchantId, serialNumber, make: 'AXIUM', model: 'DX8000', family: 'axium' };
  const scope = { organizationId: setup.organizationId };
  const { logicalDevices, physicalDevices } = setup.platform.provisioning;
  const { view: location } = await logicalDevices.create(scope, { storeId, name: 'Retail' });
  const { physicalDeviceId, tsn } = (await physicalDevices.create(scope, hardware)).view;
  const { logicalDeviceId } = location;
  await logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [physicalDeviceId]);
  const messageServiceId = randomUUID();
  const database = await testDatabase();
  await database.query(
    `INSERT INTO retail_messages (organization_id, physical_device_id, service_id, sale_id,
       message_id, merchant_id, store_id, logical_device_id, category, is_published, status,
       created_at, due_at)
     VALUES ($1, $2, $3, 'till', $4, $5, $6, $7, 'Payment', false, 'Sent', now(), now())`,
    [
      setup.organizationId,
      physicalDeviceId,
      messageServiceId,
      randomUUID(),
      merchantId,
      storeId,
      logicalDeviceId,
    ],
  );
  return { tsn, messageServiceId };
}

function whereOf({ platform, organizationId, realm }: TestOrganization) {
  return { identity: platform.identity, organizationId, userDomainId: realm };
}

/** Submits a configuration, so that it has a version. */
async function configure(
  setup: TestOrganization,
  level: string,
  entityId: string,
  serviceId: string,
) {
  const path = `/configuration/v1/${level}/${entityId}/services/${serviceId}`;
  await createEntity(setup, path, { values: { greeting: 'Hello' } });
  return { level, entityId, version: '1' };
}

async function entitiesOfMerchant(
  setup: TestOrganization,
  merchant: TestMerchant,
  serviceId: string,
): Promise<EntityIds> {
  const { merchantId, storeId, contractId } = merchant;
  const person = await createTestUser(whereOf(setup), { merchantId, group: 'org_operator' });
  const activation = { serviceId, level: 'Merchant', entityId: merchantId };
  const { activationId } = await createEntity(setup, `${serviceBase}/activations`, activation);
  const till = await createEntity(setup, '/provisioning/v2/points-of-sale', {
    storeId,
    name: 'Till',
  });
  const developer = await setup.tokenFor({
    name: 'Developer',
    entityType: 'merchant',
    entityId: merchantId,
    merchantId,
    roles: ['MerchantDeveloper'],
  });
  return {
    merchantId,
    storeId,
    contractId,
    activationId,
    pointOfSaleId: till['pointOfSaleId'],
    ...(await createHardware(setup, merchant)),
    ...(await paymentsOf(setup, merchant)),
    ...(await qrPaymentOf(setup, merchant, serviceId)),
    ...(await retailOf(setup, merchant)),
    ...(await settlementOf(setup, merchant)),
    clientId: await applicationOf(setup, merchantId),
    ...(await webhooksOf(setup, developer)),
    userId: person.user.userId,
    scope: merchantId,
    ...(await configure(setup, 'merchants', merchantId, serviceId)),
  };
}

async function signUpId(): Promise<string> {
  const id = randomUUID();
  const database = await testDatabase();
  // The sign-up is already approved, so another decision gets an error and creates nothing.
  await database.query(
    `INSERT INTO sign_ups (organization_id, organization_name, persona, email, given_name,
       family_name, country, status, version, created_at, updated_at, recipient)
     VALUES ($1, 'Nobody', 'Acquirer', $2, 'Ann', 'Carter', 'FR', 'Approved', 1, now(), now(), $2)`,
    [id, `${id}@bank.example`],
  );
  return id;
}

/** The conflict is already settled, so the same decision changes nothing. */
async function conflictId(): Promise<string> {
  const id = randomUUID();
  const database = await testDatabase();
  await database.query(
    `INSERT INTO terminal_claim_conflicts (conflict_id, serial_number, make, model,
       holder_organization_id, holder_physical_device_id, holder_method,
       claimant_organization_id, claimant_physical_device_id, claimant_method, status, decision,
       created_at, settled_at)
     VALUES ($1::uuid, $1::text, 'AXIUM', 'DX8000', $1::uuid, $1::uuid, 'Code', $1::uuid,
       $1::uuid, 'Code', 'Settled', 'KeepHolder',
       now(), now())`,
    [id],
  );
  return id;
}

/** A caller sees only its own imports. */
async function bulkOf(setup: TestOrganization): Promise<string> {
  const bulkId = `import-${randomUUID()}`;
  const answer = await setup.client.call('POST', `/provisioning/v2/bulk?bulkId=${bulkId}`, {
    token: setup.acquirerToken,
    raw: JSON.stringify({ type: 'store', operation: 'delete', data: { externalId: 'none' } }),
    headers: { 'content-type': 'application/jsonl' },
  });
  assert.equal(answer.status, 200, answer.text);
  return bulkId;
}

/** A running export; the test restores it before each deletion. */
export async function restoreExport(
  { organizationId }: TestOrganization,
  exportId: string,
): Promise<void> {
  await (await testDatabase()).query(
    `INSERT INTO report_exports (organization_id, export_id, merchant_id, store_id,
       client_operation_id, report, format, filters, state, rows, bytes, parts, created_at, updated_at,
       expires_at)
     VALUES ($1, $2::uuid, $3, $3, $2::text, 'transactions', 'Csv', '{}', 'Running', 0, 0, 0, now(),
       now(), now() + interval '1 day')
     ON CONFLICT DO NOTHING`,
    [organizationId, exportId, '00000000-0000-0000-0000-000000000000'],
  );
}

/** An export, and a reconciliation with an open item. */
async function reportsOf(setup: TestOrganization) {
  const { organizationId, linkId } = setup;
  const database = await testDatabase();
  const [exportId, reconciliationId] = [randomUUID(), randomUUID()];
  await restoreExport(setup, exportId);
  await database.query(
    `INSERT INTO reconciliations (organization_id, reconciliation_id, link_id, from_day, to_day, state,
       place, lines, last_number, matched, different, missing_here, missing_there, open, balances,
       created_at)
     VALUES ($1, $2, $3, '2026-03-01', '2026-03-01', 'Matching', '', 0, 0, 0, 0, 0, 0, 0, '[]', now())`,
    [organizationId, reconciliationId, linkId],
  );
  await database.query(
    `INSERT INTO reconciliation_items (organization_id, reconciliation_id, number, outcome, differences,
       retrieval_reference) VALUES ($1, $2, 1, 'MissingHere', '[]', '1')`,
    [organizationId, reconciliationId],
  );
  return { exportId, reconciliationId, number: '1' };
}

/** The platform creates a clearing file only when captures wait for one, so the test inserts it. */
async function clearingFileOf({ organizationId, linkId }: TestOrganization): Promise<string> {
  const id = randomUUID();
  const database = await testDatabase();
  await database.query(
    `INSERT INTO clearing_files (organization_id, file_id, link_id, sequence, previous_sequence,
       numbering_jumps, institution_id, state, line_count, amounts, accepted, rejected, created_at)
     VALUES ($1, $2, $3, 1, 0, 0, '123456', 'Made', 1, '{"EUR": "100"}', 0, 0, now())`,
    [organizationId, id, linkId],
  );
  return id;
}

/** No server listens at the endpoint, so a delivery fails at once. */
async function webhooksOf(
  setup: TestOrganization,
  token = setup.acquirerToken,
): Promise<EntityIds> {
  const input = { url: 'http://127.0.0.1:9/hooks', eventTypes: ['endpoint.test'] };
  const { endpointId } = await createEntity(setup, '/webhooks/v1/endpoints', input, token);
  const path = `/webhooks/v1/endpoints/${endpointId}/test`;
  const { deliveryId } = await createEntity(setup, path, {}, token);
  return { endpointId, deliveryId };
}

async function entitiesOfOrganization(setup: TestOrganization): Promise<EntityIds> {
  const { organizationId, linkId: acquirerLinkId } = setup;
  const person = await createTestUser(whereOf(setup), { group: 'org_custcare' });
  const { serviceId } = await createEntity(setup, `${serviceBase}/services`, declaration);
  await createEntity(setup, `${serviceBase}/services/${serviceId}/publish`, {});
  const offer = { name: 'Offer', serviceIds: [serviceId] };
  const { packageId } = await createEntity(setup, `${serviceBase}/packages`, offer);
  const { subscriptionId } = await createEntity(setup, `${serviceBase}/subscriptions`, {
    packageId,
  });
  const activation = { serviceId, level: 'Organization', entityId: organizationId };
  const { activationId } = await createEntity(setup, `${serviceBase}/activations`, activation);
  return {
    organizationId,
    acquirerLinkId,
    acquirerLink: acquirerLinkId,
    serviceId,
    serviceIds: serviceId,
    packageId,
    subscriptionId,
    activationId,
    clientId: await applicationOf(setup, organizationId),
    userId: person.user.userId,
    signUpId: await signUpId(),
    conflictId: await conflictId(),
    scope: organizationId,
    ...(await configure(setup, 'organizations', organizationId, serviceId)),
    sequence: '1',
    bulkId: await bulkOf(setup),
    clearingFileId: await clearingFileOf(setup),
    ...(await reportsOf(setup)),
    ...(await webhooksOf(setup)),
  };
}

/** Created by the parent organisation with the organizationId parameter. */
async function entitiesBelow(setup: TestOrganization): Promise<EntityIds> {
  const userDomainId = `s${randomUUID().slice(0, 13)}`;
  const wanted = { name: 'Below', userDomainId };
  const { organizationId } = await createEntity(setup, '/provisioning/v2/organizations', wanted);
  const makeThere = (path: string, body: unknown) =>
    createEntity(setup, `${path}?organizationId=${organizationId}`, body);
  const merchant = { name: 'M', country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
  const { merchantId } = await makeThere('/provisioning/v2/merchants', merchant);
  const { storeId } = await makeThere('/provisioning/v2/stores', { merchantId, name: 'S' });
  const device = { storeId, name: 'D' };
  const { logicalDeviceId } = await makeThere('/provisioning/v2/logical-devices', device);
  const users = `/user-management/v2/user-domains/${userDomainId}/users`;
  const person = { username: 'ann', entityId: merchantId, scope: merchantId };
  const { userId } = await makeThere(users, { ...person, email: 'ann@below.example' });
  const { acquirerLinkId } = await makeThere('/provisioning/v2/acquirer-links', {
    name: 'closed',
    host: '127.0.0.1',
    port: 9,
    tls: false,
    institutionId: '123456',
    status: 'Disabled',
  });
  const applications = `/application-management/v1/user-domains/${userDomainId}/applications`;
  const { clientId } = await makeThere(applications, { name: 'A till', entityId: merchantId });
  return {
    organizationId,
    userDomainId,
    merchantId,
    storeId,
    logicalDeviceId,
    userId,
    clientId,
    acquirerLinkId,
    acquirerLink: acquirerLinkId,
    entityId: merchantId,
    scope: merchantId,
    physicalDeviceIds: organizationId,
  };
}

/**
 * An organisation with two merchants and one sub-organisation, and objects of every kind at all
 * three.
 */
export async function createMatrixTenant(): Promise<MatrixTenant> {
  const setup = await createTestOrganization();
  const organization = await entitiesOfOrganization(setup);
  const serviceId = String(organization['serviceId']);
  return {
    setup,
    shared: { userDomainId: setup.realm },
    organization,
    below: await entitiesBelow(setup),
    merchant: await entitiesOfMerchant(setup, setup.merchant, serviceId),
    otherMerchant: await entitiesOfMerchant(setup, setup.otherMerchant, serviceId),
  };
}
