/** Selects a level, and the merchant, store or logical device at that level. */
import { SegmentedControl, Select } from '@mantine/core';
import { useState } from 'react';
import { useEntityName, useEntityNames } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import {
  type ConfigurationScope,
  entityKindOfLevel,
  type Level,
  levels,
} from './configuration-levels.ts';

export function LevelChoice({
  scope,
  onChange,
}: {
  readonly scope: ConfigurationScope;
  readonly onChange: (scope: ConfigurationScope) => void;
}) {
  const t = useTranslate('configuration');
  const { organizationId, organizationName, merchantId } = useSession();
  // The level applies after the user has chosen an entity.
  const [chosen, setChosen] = useState<Level | undefined>(undefined);
  const level = chosen ?? scope.level;
  const offered = levels.filter((each) => merchantId === undefined || each !== 'organizations');
  return (
    <div className="sy-conf-place">
      <div className="sy-wide-choice">
        <SegmentedControl
          aria-label={t('level')}
          data={offered.map((value) => ({ value, label: t(`levels.${value}`) }))}
          value={level}
          onChange={(value) => {
            const next = value as Level;
            if (next === 'organizations') {
              setChosen(undefined);
              onChange({ level: next, entityId: organizationId });
            } else if (next === 'merchants' && merchantId !== undefined) {
              setChosen(undefined);
              onChange({ level: next, entityId: merchantId });
            } else setChosen(next);
          }}
        />
      </div>
      {level === 'organizations' ? (
        <strong className="sy-broken">{organizationName ?? t('levels.organizations')}</strong>
      ) : (
        <EntityChoice
          key={level}
          level={level}
          value={level === scope.level ? scope.entityId : null}
          onChange={(entityId) => {
            setChosen(undefined);
            onChange({ level, entityId });
          }}
        />
      )}
    </div>
  );
}

function EntityChoice({
  level,
  value,
  onChange,
}: {
  readonly level: Exclude<Level, 'organizations'>;
  readonly value: string | null;
  readonly onChange: (entityId: string) => void;
}) {
  const t = useTranslate('configuration');
  const kind = entityKindOfLevel[level] ?? 'merchants';
  const names = useEntityNames(kind).data;
  // The chosen entity may not be on the first page of names.
  const chosenName = useEntityName(kind, value);
  const options = new Map(names ?? []);
  if (value !== null && !options.has(value)) options.set(value, chosenName ?? value);
  return (
    <Select
      className="sy-conf-entity"
      aria-label={t(`levels.${level}`)}
      placeholder={t(`choose.${level}`)}
      searchable
      allowDeselect={false}
      data={[...options].map(([id, label]) => ({ value: id, label }))}
      value={value}
      onChange={(next) => {
        if (next !== null) onChange(next);
      }}
    />
  );
}
