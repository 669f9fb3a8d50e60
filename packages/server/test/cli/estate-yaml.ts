// An estate file as a user writes it, with names that no other test uses.
import { randomBytes, randomUUID } from 'node:crypto';

export type EstateNames = { suffix: string; head: string; host: string };

export const estateNames = (): EstateNames => {
  const suffix = randomBytes(4).toString('hex');
  return { suffix, head: `T${suffix.slice(0, 3).toUpperCase()}`, host: 'acquirer.example' };
};

/**
 * Two merchants with all kinds of objects below them, users, tills, a service and its activation.
 */
export function estateYaml({ suffix, head, host }: EstateNames): string {
  return `format: switchyard-estate/1
acquirerLinks:
  - { externalId: link, name: link ${suffix}, host: ${host}, port: 8583, institutionId: "100001", status: Disabled }
merchants:
  - externalId: bread
    name: Bread & Butter
    country: FR
    mcc: "5462"
    timeZone: Europe/Paris
    address: { line1: 3 rue des Martyrs, city: Paris }
    acquirerContracts:
      - acquirerLink: link
        acquirerMerchantId: "80000${suffix.replace(/\D/g, '0')}"
        terminalIdRange: { from: ${head}0001, to: ${head}0099 }
        currencies: [EUR]
        captureModes: [Immediate]
    stores:
      - externalId: martyrs
        name: Rue des Martyrs
        logicalDevices:
          - { externalId: c1, name: Counter 1, physicalDevices: [AXIUM_DX8000-${suffix}a] }
          - { name: Counter 2, physicalDevices: [AXIUM_DX8000-${suffix}b, TETRA_LANE3000-${suffix}c] }
        pointsOfSale:
          - { externalId: till, name: Till }
        activations:
          - { service: Loyalty ${suffix}, parameters: { account: B-2 } }
        configurations:
          - { service: Loyalty ${suffix}, values: { points: 3 } }
    activations:
      - { service: Loyalty ${suffix}, includesExisting: false, parameters: { account: B-1 } }
  - { externalId: cake, name: "Cake \\x9b31m & Co", country: FR, mcc: "5462", timeZone: Europe/Paris }
physicalDevices:
  - { serialNumber: "${suffix}a", make: AXIUM, model: DX8000, family: axium, merchant: bread }
  - { serialNumber: "${suffix}b", make: AXIUM, model: DX8000, family: axium, merchant: bread }
  - { serialNumber: "${suffix}c", make: TETRA, model: LANE3000, family: tetra, merchant: bread }
  - { serialNumber: "${suffix}d", make: TETRA, model: LANE3000, family: tetra }
users:
  - { username: ann-${suffix}, email: ann@shop.example, merchant: bread, groups: [merchant_manager] }
  - { username: bob-${suffix}, email: bob@shop.example, groups: [org_custcare], status: deactivated }
applications:
  - { clientId: office-${suffix}, name: Office, roles: [MerchantReadOnly], merchant: bread, store: martyrs }
services:
  - name: Loyalty ${suffix}
    domain: Loyalty
    activationParameters:
      type: object
      properties: { account: { type: string, maxLength: 20 } }
      additionalProperties: false
    parameterSchema:
      type: object
      properties: { points: { type: integer, minimum: 0, maximum: 9 } }
      additionalProperties: false
packages:
  - { name: Offer, services: [Loyalty ${suffix}] }
subscriptions:
  - package: Offer
activations:
  - { service: Loyalty ${suffix}, includesExisting: false, parameters: { account: B } }
configurations:
  - { service: Loyalty ${suffix}, values: { points: 1 } }
`;
}

/** Many disabled acquirer links; the server creates each one by a separate request. */
export function yamlWithManyLinks(count: number): string {
  const acquirerLinks = Array.from({ length: count }, (_, at) => ({
    externalId: `l${String(at).padStart(4, '0')}`,
    name: `Link ${at} ${randomUUID().slice(0, 4)}`,
    host: 'acquirer.example',
    port: 8583,
    institutionId: '100001',
    status: 'Disabled',
  }));
  return JSON.stringify({ format: 'switchyard-estate/1', acquirerLinks });
}
