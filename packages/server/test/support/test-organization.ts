// An organisation for one test, with everything that a sale needs and with access tokens.
import { randomUUID } from 'node:crypto';
import { type TestPlatform, testPlatform } from './test-platform.ts';
import { until } from './wait-for-result.ts';

export type TestMerchant = {
  merchantId: string;
  storeId: string;
  deviceIds: string[];
  contractId: string;
  /** The merchant's number at the host (DE42). */
  merchantNumber: string;
  token: string;
};

export type NewApplication = {
  name: string;
  entityType: 'tenant' | 'merchant';
  entityId: string;
  merchantId?: string;
  storeId?: string;
  roles: string[];
};

export type TestOrganization = TestPlatform & {
  realm: string;
  organizationId: string;
  linkId: string;
  acquirerToken: string;
  merchant: TestMerchant;
  otherMerchant: TestMerchant;
  createMerchant(terms?: Record<string, unknown>): Promise<TestMerchant>;
  /** An access token of a new application of the organisation. */
  tokenFor(application: NewApplication): Promise<string>;
};

let merchantCount = 0;

/**
 * Creates an organisation with two merchants that cannot see each other.
 *
 * @param terms members of the acquirer contracts that differ from the usual
 * @param connection the acquirer's port, if it is not the port of the test platform, and members of the
 * link
 */
export async function createTestOrganization(
  terms: Record<string, unknown> = {},
  connection: { acquirerPort?: number; link?: Record<string, unknown> } = {},
): Promise<TestOrganization> {
  const sharedPlatform = await testPlatform();
  const { platform, client, host } = sharedPlatform;
  const realm = `r${randomUUID().slice(0, 13)}`;
  const organizationId = randomUUID();
  const scope = { organizationId };
  await platform.provisioning.organizations.create(scope, { name: realm }, organizationId);
  await platform.identity.createUserDomain({ userDomainId: realm, organizationId });
  const link = await platform.provisioning.acquirerLinks.create(scope, {
    name: `host-${realm}`,
    host: '127.0.0.1',
    port: connection.acquirerPort ?? host.port,
    tls: false,
    institutionId: '123456',
    ...connection.link,
  });
  const linkId = link.view.acquirerLinkId;
  await platform.openLinks();

  const tokenFor = async (application: NewApplication): Promise<string> => {
    const credentials = await platform.identity.createApplication({
      organizationId,
      userDomainId: realm,
      securityFlows: ['ClientCredentials'],
      ...application,
    });
    return client.token(realm, credentials.clientId, credentials.clientSecret);
  };

  async function createMerchant(
    merchantTerms: Record<string, unknown> = terms,
  ): Promise<TestMerchant> {
    merchantCount += 1;
    const merchantNumberSuffix = merchantCount;
    const { view: merchant } = await platform.provisioning.merchants.create(scope, {
      name: `Merchant ${merchantNumberSuffix}`,
      country: 'FR',
      mcc: '5411',
      timeZone: 'Europe/Paris',
    });
    const { merchantId } = merchant;
    const { view: store } = await platform.provisioning.stores.create(scope, {
      merchantId,
      name: `Store ${merchantNumberSuffix}`,
    });
    const { storeId } = store;
    const deviceIds: string[] = [];
    for (const name of ['Till 1', 'Till 2']) {
      const { view } = await platform.provisioning.logicalDevices.create(scope, { storeId, name });
      deviceIds.push(view.logicalDeviceId);
    }
    const merchantNumber = `M${String(merchantNumberSuffix).padStart(14, '0')}`;
    const terminalIdPrefix = `T${merchantNumberSuffix.toString(36).toUpperCase().padStart(3, '0')}`;
    const { view: contract } = await platform.provisioning.acquirerContracts.create(scope, {
      merchantId,
      acquirerLink: linkId,
      acquirerMerchantId: merchantNumber,
      terminalIdRange: { from: `${terminalIdPrefix}0001`, to: `${terminalIdPrefix}9999` },
      currencies: ['EUR', 'USD', 'JPY'],
      captureModes: ['Immediate', 'Deferred'],
      defaultCaptureMode: 'Immediate',
      partialCancel: true,
      multipleCapture: true,
      partialApproval: true,
      clearCardData: 'Allowed',
      ...merchantTerms,
    });
    const token = await tokenFor({
      name: `till ${merchantNumberSuffix}`,
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      roles: ['Merchant'],
    });
    return {
      merchantId,
      storeId,
      deviceIds,
      contractId: contract.contractId,
      merchantNumber,
      token,
    };
  }

  const acquirerToken = await tokenFor({
    name: 'acquirer',
    entityType: 'tenant',
    entityId: organizationId,
    roles: ['AcquirerAdministrator'],
  });
  const merchant = await createMerchant();
  await until(async () => {
    const path = '/payment/v1/transactions/technical/isAvailable';
    const { body } = await client.call('GET', path, { token: merchant.token });
    return body.available === true ? true : undefined;
  }, 'the link to sign on');
  return {
    ...sharedPlatform,
    realm,
    organizationId,
    linkId,
    acquirerToken,
    merchant,
    otherMerchant: await createMerchant(),
    createMerchant,
    tokenFor,
  };
}
