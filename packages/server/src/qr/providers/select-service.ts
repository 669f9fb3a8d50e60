// Selects the service for a payment from those that are active at the terminal.
import type { CreateQrPayment } from '@switchyard/contract';
import type { ActiveService } from '../../catalog/index.ts';
import type { SelectedService } from './provider-types.ts';

const scenarios = ['consumerscan', 'merchantscan'];

/** A service with scenarios among its methods takes only these; without scenarios it takes both. */
function acceptsScenario({ methods }: ActiveService, scenario: string): boolean {
  const namedScenarios = methods.map((method) => method.toLowerCase());
  return (
    !namedScenarios.some((method) => scenarios.includes(method)) ||
    namedScenarios.includes(scenario)
  );
}

/** If several services have the payment type, the one that was declared first takes the payment. */
export function selectService(
  services: readonly ActiveService[],
  paymentType: string,
  scenario: CreateQrPayment['paymentScenario'],
): SelectedService | undefined {
  const [first] = services
    .filter(({ paymentTypes }) => paymentTypes.includes(paymentType))
    .filter((service) => acceptsScenario(service, scenario))
    .sort((one, other) => (one.serviceId < other.serviceId ? -1 : 1));
  if (first === undefined) return undefined;
  const { serviceId, providerId, release, name } = first;
  return { serviceId, providerId, release, name };
}
