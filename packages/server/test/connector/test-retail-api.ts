// The Retail API over real sockets: a platform with short times, an organisation with terminals,
// and small devices that respond.
import { randomUUID } from 'node:crypto';
import { connectorPaths } from '@switchyard/contract';
import { type AnyMessage, answerTo, isMessage, readMessage, writeMessage } from '@switchyard/nexo';
import { WebSocket } from 'ws';
import { scopeAuthoredByPlatform } from '../../src/catalog/index.ts';
import { bearerHeaders } from '../support/bearer-headers.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { type Json, type Line, lineOf } from './test-connector.ts';

export type RetailDevice = {
  readonly tsn: string;
  readonly storeId: string;
  readonly merchantId: string;
  readonly logicalDeviceId: string;
  readonly physicalDeviceId: string;
  connect(): Promise<Line>;
};
export type TestRetailApi = {
  readonly organization: TestOrganization;
  /** The token of an application of the whole organisation. */
  readonly token: string;
  device(merchant?: { merchantId: string }): Promise<RetailDevice>;
  /** Moves a terminal to the place of another terminal, which it replaces. */
  move(terminal: RetailDevice, to: RetailDevice): Promise<void>;
  /** A token for the terminals of one store. */
  tillToken(store: { merchantId: string; storeId: string }): Promise<string>;
  close(): void;
};

const declaration = { name: 'Cloud Connector', description: 'It.', domain: 'Retail API' };
let serials = 61_000_000;

export async function openRetailApi(): Promise<TestRetailApi> {
  const organization = await createTestOrganization();
  const { platform, organizationId, realm, ca, settings, client } = organization;
  const author = scopeAuthoredByPlatform(organizationId);
  const { services, packagesAndSubscriptions: offers, activations } = platform.catalog;
  const { serviceId } = (await services.create(author, declaration as never)).view;
  await services.publish(author, serviceId);
  const offer = await offers.createPackage(author, { name: 'Offer', serviceIds: [serviceId] });
  await offers.subscribe(author, offer.view.packageId);
  await activations.activate(author, {
    serviceId,
    level: 'Organization',
    entityId: organizationId,
  });
  const till = await platform.identity.createApplication({
    organizationId,
    userDomainId: realm,
    name: 'Tills',
    entityType: 'tenant',
    entityId: organizationId,
    roles: ['PointOfSaleTerminal'],
    securityFlows: ['ClientCredentials'],
  });
  const sockets = new Set<WebSocket>();
  const active = new Set<string>();
  const scope = { organizationId };

  async function open(path: string, token?: string): Promise<Line> {
    const headers = bearerHeaders(token);
    const socket = new WebSocket(`${settings.baseUrl.replace(/^http/, 'ws')}${path}`, {
      ca,
      headers,
    });
    sockets.add(socket);
    const line = lineOf(socket);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return line;
  }

  return {
    organization,
    token: await client.token(realm, till.clientId, till.clientSecret),
    async device(merchant = organization.merchant) {
      serials += 1;
      const { merchantId } = merchant;
      const { provisioning } = platform;
      const store = await provisioning.stores.create(scope, { merchantId, name: `S${serials}` });
      const { storeId } = store.view;
      const logicalDevice = await provisioning.logicalDevices.create(scope, {
        storeId,
        name: 'Till',
      });
      const { logicalDeviceId } = logicalDevice.view;
      const hardware = { serialNumber: String(serials), make: 'AXIUM', model: 'DX8000' };
      const made = await provisioning.physicalDevices.create(scope, {
        ...hardware,
        family: 'axium',
        merchantId,
      });
      const { tsn, physicalDeviceId } = made.view;
      await provisioning.logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [
        physicalDeviceId,
      ]);
      if (!active.has(merchantId)) {
        await activations.activate(author, { serviceId, level: 'Merchant', entityId: merchantId });
        active.add(merchantId);
      }
      await activations.activate(author, { serviceId, level: 'Store', entityId: storeId });
      return {
        tsn,
        storeId,
        merchantId,
        logicalDeviceId,
        physicalDeviceId,
        async connect() {
          const listener = await open(connectorPaths.deviceListener);
          const credentials = { client_id: till.clientId, client_secret: till.clientSecret };
          listener.send({ type: 'register', tsn, ...credentials });
          const registered = await listener.next();
          const { pathname } = new URL(registered['connectionUrl']);
          return open(pathname, registered['token']);
        },
      };
    },
    async move({ logicalDeviceId, physicalDeviceId }, to) {
      const { logicalDevices, physicalDevices } = platform.provisioning;
      await logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, []);
      const { view } = await physicalDevices.get(scope, physicalDeviceId);
      const { serialNumber, make, model, family } = view;
      const hardware = { serialNumber, make, model, family, merchantId: to.merchantId };
      await physicalDevices.replace(scope, physicalDeviceId, hardware);
      await logicalDevices.linkPhysicalDevices(scope, to.logicalDeviceId, [physicalDeviceId]);
    },
    tillToken: ({ merchantId, storeId }) =>
      organization.tokenFor({
        name: 'Till',
        entityType: 'merchant',
        entityId: merchantId,
        merchantId,
        storeId,
        roles: ['PointOfSaleTerminal'],
      }),
    close() {
      for (const socket of sockets) socket.terminate();
    },
  };
}

let services = 0;

/** A request with an unused ServiceID. */
export function requestOf(category: string, body: Json, header: Json = {}): Json {
  services += 1;
  return {
    SaleToPOIRequest: {
      MessageHeader: {
        ProtocolVersion: '3.0',
        MessageClass: 'Service',
        MessageCategory: category,
        MessageType: 'Request',
        ServiceID: String(services),
        SaleID: 'till-3',
        POIID: 'poi',
        ...header,
      },
      [`${category}Request`]: body,
    },
  };
}

export const paymentOf = (header: Json = {}): Json =>
  requestOf(
    'Payment',
    {
      SaleData: {
        SaleTransactionID: { TransactionID: randomUUID(), TimeStamp: '2026-03-01T12:30:00.000Z' },
      },
      PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount: 12.5 } },
    },
    header,
  );

export const headerOf = (message: Json): Json => message['SaleToPOIRequest'].MessageHeader;

/** Reads the next request that a device received. */
export async function heardBy(line: Line): Promise<AnyMessage> {
  const reading = readMessage((await line.raw()).data);
  if (reading.kind !== 'Message') throw new Error(JSON.stringify(reading));
  return reading.message;
}

/** A payment response of a terminal, with a masked number that no log may contain. */
export function paidOf(message: AnyMessage): string {
  if (!isMessage(message, 'Payment', 'Request')) throw new Error('no payment');
  const { SaleData, PaymentTransaction } = message.body;
  const { Currency, RequestedAmount } = PaymentTransaction.AmountsReq;
  return writeMessage(
    answerTo(message, {
      Response: { Result: 'Success' },
      SaleData,
      POIData: { POITransactionID: { TransactionID: '99', TimeStamp: '2026-03-01T12:30:05.000Z' } },
      PaymentResult: {
        AmountsResp: { Currency, AuthorizedAmount: RequestedAmount ?? 0 },
        PaymentInstrumentData: {
          PaymentInstrumentType: 'Card',
          CardData: { MaskedPan: '411111******1111', EntryMode: ['Tapped'] },
        },
      },
    }),
  );
}
