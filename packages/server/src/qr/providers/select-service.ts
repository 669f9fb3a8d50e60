// Selects the service for a payment from those that are active at the terminal.
import type { CreateQrPayment } from '@switchyard/contract';
import type { ActiveService } from '../../catalog/index.ts';
import type { PickedService } from './provider-types.ts';

const scenarios = ['consumerscan', 'merchantscan'];

/** A service with scenarios among its methods takes only these; without scenarios it takes both. */
function takes({ methods }: ActiveService, scenario: string): boolean {
  const named = methods.map((method) => method.toLowerCase());
  return !named.some((method) => scenarios.includes(method)) || named.includes(scenario);
}

/** If several services have the payment type, the one that was declared first takes the payment. */
export function pickService(
  services: readonly ActiveService[],
  paymentType: string,
  scenario: CreateQrPayment['paymentScenario'],
): PickedService | undefined {
  const [first] = services
    .filter(({ paymentTypes }) => paymentTypes.includes(paymentType))
    .filter((service) => takes(service, scenario))
    .sort((one, other) => (one.serviceId < other.serviceId ? -1 : 1));
  if (first === undefined) return undefined;
  const { serviceId, providerId, release, name } = first;
  return { serviceId, providerId, release, name };
}
