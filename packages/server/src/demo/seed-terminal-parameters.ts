// Seeds EMV terminal parameters with the keys of the test sets, and the values of some levels.
import type { ActivationLevel, ServiceInput } from '@switchyard/contract';
import {
  terminalParameterDefaults,
  terminalParameterDomain,
  terminalParameterSchema,
  testCaKeyValues,
} from '@switchyard/emv';
import { type Catalog, scopeAuthoredByPlatform } from '../catalog/index.ts';
import { demoMerchants, organizationId, terminalParameterService } from './demo-data.ts';

const { name, description, ...identifiers } = terminalParameterService;

const input: ServiceInput = {
  name,
  description,
  domain: terminalParameterDomain,
  parameterSchema: terminalParameterSchema,
  defaults: { ...terminalParameterDefaults, caKeys: testCaKeyValues() },
};

export const terminalParameters = { ...identifiers, name, input };

const [cafe] = demoMerchants;
const kiosk = cafe.stores[1]?.storeId ?? '';

/**
 * The acquirer is in the Netherlands, one merchant is in France, and one of its stores is
 * unattended.
 */
const levels: readonly {
  readonly level: ActivationLevel;
  readonly entityId: string;
  readonly values: Readonly<Record<string, unknown>>;
}[] = [
  {
    level: 'Organization',
    entityId: organizationId,
    values: { terminal: { countryCode: '528' } },
  },
  {
    level: 'Merchant',
    entityId: cafe.merchantId,
    values: {
      terminal: { countryCode: '250' },
      coBrandRules: [
        {
          name: 'CB with Visa',
          binFrom: '497000',
          binTo: '497999',
          applications: ['A0000000421010', 'A0000000031010'],
          isCardholderChoice: true,
        },
        {
          name: 'CB with Mastercard',
          binFrom: '513000',
          binTo: '513999',
          applications: ['A0000000421010', 'A0000000041010'],
          isCardholderChoice: true,
        },
      ],
    },
  },
  {
    level: 'Store',
    entityId: kiosk,
    values: {
      terminal: { terminalType: '25', terminalCapabilities: '60D8C8', isFallbackAllowed: false },
      applications: {
        A0000000031010: { contactless: { cvmRequiredLimitMinor: 2_500 } },
        A0000000041010: { contactless: { cvmRequiredLimitMinor: 2_500 } },
      },
    },
  },
];

/** Keeps the values that a user has set since the first start. */
export async function seedTerminalParameters(
  configuration: Catalog['configuration'],
): Promise<void> {
  const scope = scopeAuthoredByPlatform(organizationId);
  const { serviceId } = terminalParameterService;
  for (const { level, entityId, values } of levels) {
    const target = { level, entityId, serviceId };
    const { version } = await configuration.getConfiguration(scope, target);
    if (version === 0) await configuration.submit(scope, target, values);
  }
}
