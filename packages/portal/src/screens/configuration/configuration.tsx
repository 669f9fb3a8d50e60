/** The configuration screen: selects a level and a service. */

import { Page } from '../../components/layout/page.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { type ConfigurationScope, isLevel } from './configuration-levels.ts';
import { LevelChoice } from './level-choice.tsx';
import { ServiceConfigurationView } from './service-configuration.tsx';
import { ServiceList } from './service-list.tsx';
import './configuration.css';

const names = ['level', 'entityId', 'serviceId'] as const;

/** The default scope is the user's own organisation or merchant. */
function useScope(): [
  ConfigurationScope,
  string | undefined,
  (change: Partial<Record<(typeof names)[number], string>>) => void,
] {
  const [values, change] = useFilters(names);
  const { organizationId, merchantId } = useSession();
  const { level, entityId, serviceId } = values;
  const ownScope: ConfigurationScope =
    merchantId === undefined
      ? { level: 'organizations', entityId: organizationId }
      : { level: 'merchants', entityId: merchantId };
  const isWhole = isLevel(level) && (entityId !== undefined || level === ownScope.level);
  const scope = isWhole ? { level, entityId: entityId ?? ownScope.entityId } : ownScope;
  return [scope, serviceId, change];
}

export default function Configuration() {
  const t = useTranslate('configuration');
  const [scope, serviceId, change] = useScope();
  return (
    <Page title={t('title')} lead={t('lead')}>
      <LevelChoice
        scope={scope}
        onChange={(next) => change({ level: next.level, entityId: next.entityId })}
      />
      {serviceId === undefined ? (
        <ServiceList key={`${scope.level} ${scope.entityId}`} scope={scope} />
      ) : (
        <ServiceConfigurationView
          key={`${scope.level} ${scope.entityId} ${serviceId}`}
          scope={scope}
          serviceId={serviceId}
          onLeave={() => change({ serviceId: '' })}
        />
      )}
    </Page>
  );
}
