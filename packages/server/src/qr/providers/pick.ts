// Picks the service that takes a payment, out of those that are active at the terminal.
import type { CreateQrPayment } from '@switchyard/contract';
import type { ActiveService } from '../../catalog/index.ts';
import type { PickedService } from './types.ts';

const scenarios = ['consumerscan', 'merchantscan'];

/** A service that names scenarios among its methods takes these alone; one that names none takes both. */
function takes({ methods }: ActiveService, scenario: string): boolean {
  const named = methods.map((method) => method.toLowerCase());
  return !named.some((method) => scenarios.includes(method)) || named.includes(scenario);
}

/** Where two have the same code, the one that was declared first has it. */
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
