/** The entity kinds and their API URLs. */

export type EstateKind =
  | 'merchant'
  | 'store'
  | 'place'
  | 'device'
  | 'pointOfSale'
  | 'link'
  | 'contract';

const base = '/provisioning/v2';

export const estateApiUrls = {
  merchants: `${base}/merchants`,
  stores: `${base}/stores`,
  places: `${base}/logical-devices`,
  devices: `${base}/physical-devices`,
  pointsOfSale: `${base}/points-of-sale`,
  links: `${base}/acquirer-links`,
  imports: `${base}/bulk`,
  merchant: (id: string) => `${base}/merchants/${id}`,
  store: (id: string) => `${base}/stores/${id}`,
  place: (id: string) => `${base}/logical-devices/${id}`,
  placeHardware: (id: string) => `${base}/logical-devices/${id}/physical-devices`,
  device: (id: string) => `${base}/physical-devices/${id}`,
  certificates: (id: string) => `${base}/physical-devices/${id}/certificates`,
  claim: (id: string) => `${base}/physical-devices/${id}/claim`,
  pointOfSale: (id: string) => `${base}/points-of-sale/${id}`,
  link: (id: string) => `${base}/acquirer-links/${id}`,
  contracts: (merchantId: string) => `${base}/merchants/${merchantId}/acquirer-contracts`,
  contract: (merchantId: string, id: string) =>
    `${base}/merchants/${merchantId}/acquirer-contracts/${id}`,
  presence: '/cloud-connector/v1/devices',
  presenceOf: (id: string) => `/cloud-connector/v1/devices/${id}`,
  deviceCounts: '/cloud-connector/v1/device-counts',
  linkStates: '/payment/v1/acquirer-links',
} as const;
