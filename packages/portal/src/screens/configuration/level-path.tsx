/** Shows the levels from the provider defaults down to this level, and which of them set values. */
import type { ServiceConfiguration } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import {
  type ConfigurationScope,
  entityKindOfLevel,
  levelByApiName,
} from './configuration-levels.ts';

type Step = ServiceConfiguration['levels'][number];

export function LevelPath({
  configuration: { levels, level, entityId },
  scope,
  serviceId,
}: {
  readonly configuration: ServiceConfiguration;
  readonly scope: ConfigurationScope;
  readonly serviceId: string;
}) {
  const t = useTranslate('configuration');
  const isListed = levels.some((each) => each.level === level && each.entityId === entityId);
  const steps: readonly Step[] = isListed
    ? levels
    : [...levels, { level, entityId, version: 0, isSet: false }];
  return (
    <ol className="sy-conf-ladder" aria-label={t('ladder')}>
      {steps.map((step) => (
        <li key={`${step.level} ${step.entityId}`} data-set={step.isSet}>
          <Icon name={step.isSet ? 'check' : 'chevronRight'} size={14} />
          <StepName step={step} serviceId={serviceId} isHere={step.entityId === scope.entityId} />
          <small>{t(step.isSet ? 'sets' : 'setsNothing')}</small>
        </li>
      ))}
    </ol>
  );
}

function StepName({
  step,
  serviceId,
  isHere,
}: {
  readonly step: Step;
  readonly serviceId: string;
  readonly isHere: boolean;
}) {
  const t = useTranslate('configuration');
  const level = levelByApiName(step.level);
  const kind = level === undefined ? undefined : entityKindOfLevel[level];
  const name = (
    <>
      <span>{t(`levelNames.${step.level}`)}</span>
      {kind !== undefined && <EntityName kind={kind} id={step.entityId} />}
    </>
  );
  if (isHere || level === undefined) return <strong className="sy-conf-step">{name}</strong>;
  return (
    <Link
      className="sy-conf-step"
      to="/configuration"
      search={{ level, entityId: step.entityId, serviceId } as never}
    >
      {name}
    </Link>
  );
}
