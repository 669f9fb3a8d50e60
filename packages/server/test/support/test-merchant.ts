// An organisation for one test, with everything that a sale needs and with access tokens.
import { randomUUID } from 'node:crypto';
import { type TestHouse, testHouse } from './test-platform.ts';
import { until } from './wait-for-result.ts';

export type Shop = {
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

export type Scene = TestHouse & {
  realm: string;
  organizationId: string;
  linkId: string;
  acquirerToken: string;
  shop: Shop;
  otherShop: Shop;
  newShop(terms?: Record<string, unknown>): Promise<Shop>;
  /** An access token of a new application of the organisation. */
  tokenFor(application: NewApplication): Promise<string>;
};

let places = 0;

/**
 * Creates an organisation with two merchants that cannot see each other.
 *
 * @param terms members of the acquirer contracts that differ from the usual
 * @param on the acquirer's port, if it is not the port of the test platform, and members of the
 * link
 */
export async function scene(
  terms: Record<string, unknown> = {},
  on: { acquirerPort?: number; link?: Record<string, unknown> } = {},
): Promise<Scene> {
  const open = await testHouse();
  const { house, client, host } = open;
  const realm = `r${randomUUID().slice(0, 13)}`;
  const organizationId = randomUUID();
  const scope = { organizationId };
  await house.provisioning.organizations.create(scope, { name: realm }, organizationId);
  await house.identity.createUserDomain({ userDomainId: realm, organizationId });
  const link = await house.provisioning.acquirerLinks.create(scope, {
    name: `host-${realm}`,
    host: '127.0.0.1',
    port: on.acquirerPort ?? host.port,
    tls: false,
    institutionId: '123456',
    ...on.link,
  });
  const linkId = link.view.acquirerLinkId;
  await house.openLinks();

  const tokenFor = async (application: NewApplication): Promise<string> => {
    const credentials = await house.identity.createApplication({
      organizationId,
      userDomainId: realm,
      securityFlows: ['ClientCredentials'],
      ...application,
    });
    return client.token(realm, credentials.clientId, credentials.clientSecret);
  };

  async function newShop(own: Record<string, unknown> = terms): Promise<Shop> {
    places += 1;
    const place = places;
    const { view: merchant } = await house.provisioning.merchants.create(scope, {
      name: `Merchant ${place}`,
      country: 'FR',
      mcc: '5411',
      timeZone: 'Europe/Paris',
    });
    const { merchantId } = merchant;
    const { view: store } = await house.provisioning.stores.create(scope, {
      merchantId,
      name: `Store ${place}`,
    });
    const { storeId } = store;
    const deviceIds: string[] = [];
    for (const name of ['Till 1', 'Till 2']) {
      const { view } = await house.provisioning.logicalDevices.create(scope, { storeId, name });
      deviceIds.push(view.logicalDeviceId);
    }
    const merchantNumber = `M${String(place).padStart(14, '0')}`;
    const head = `T${place.toString(36).toUpperCase().padStart(3, '0')}`;
    const { view: contract } = await house.provisioning.acquirerContracts.create(scope, {
      merchantId,
      acquirerLink: linkId,
      acquirerMerchantId: merchantNumber,
      terminalIdRange: { from: `${head}0001`, to: `${head}9999` },
      currencies: ['EUR', 'USD', 'JPY'],
      captureModes: ['Immediate', 'Deferred'],
      defaultCaptureMode: 'Immediate',
      partialCancel: true,
      multipleCapture: true,
      partialApproval: true,
      clearCardData: 'Allowed',
      ...own,
    });
    const token = await tokenFor({
      name: `till ${place}`,
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
  const shop = await newShop();
  await until(async () => {
    const path = '/payment/v1/transactions/technical/isAvailable';
    const { body } = await client.call('GET', path, { token: shop.token });
    return body.available === true ? true : undefined;
  }, 'the link to sign on');
  return {
    ...open,
    realm,
    organizationId,
    linkId,
    acquirerToken,
    shop,
    otherShop: await newShop(),
    newShop,
    tokenFor,
  };
}
