/** Sign-up requests of organisations, for the platform operator. */
import { Button } from '@mantine/core';
import type { SignUp } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { DescriptionList, EmptyState, Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import './sign-ups.css';

const address = '/onboarding/v1/sign-ups';
const statuses = ['Pending', 'Approving', 'Approved', 'Rejected'] as const;
const tones = { Pending: 'warn', Approving: 'busy', Approved: 'good', Rejected: 'bad' } as const;

type Decision = { readonly verb: 'approve' | 'reject'; readonly signUp: SignUp };

function columnsOf(t: Translate, decide: (decision: Decision) => void): Column<SignUp>[] {
  return [
    {
      id: 'organization',
      header: t('organization'),
      cardPosition: 'lead',
      cell: ({ organizationName }) => <TruncatedName>{organizationName}</TruncatedName>,
    },
    {
      id: 'persona',
      header: t('persona'),
      width: '11rem',
      cell: ({ persona }) => t(`personas.${persona}`),
    },
    {
      id: 'email',
      header: t('email'),
      cardPosition: 'sub',
      cell: ({ email }) => <TruncatedName>{email}</TruncatedName>,
    },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
    {
      id: 'status',
      header: t('status'),
      width: '9rem',
      cardPosition: 'subtrail',
      cell: ({ status }) => (
        <StateBadge state="" tone={tones[status]}>
          {t(`statuses.${status}`)}
        </StateBadge>
      ),
    },
    {
      id: 'decide',
      header: t('decide'),
      width: '12rem',
      cardPosition: 'trail',
      align: 'end',
      cell: (signUp) =>
        signUp.status === 'Pending' ? (
          <span className="sy-sign-up-verbs">
            {(['approve', 'reject'] as const).map((verb) => (
              <Button
                key={verb}
                variant="default"
                size="compact-xs"
                aria-label={t(`${verb}.of`, { name: signUp.organizationName })}
                onClick={() => decide({ verb, signUp })}
              >
                {t(`${verb}.do`)}
              </Button>
            ))}
          </span>
        ) : null,
    },
  ];
}

export default function SignUps() {
  const t = useTranslate('sign-ups');
  const [values, change] = useFilters(['status'] as const);
  const [decision, setDecision] = useState<Decision | undefined>(undefined);
  // The table reloads after a decision.
  const [round, setRound] = useState(0);
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <FilterBar
        fields={[
          {
            kind: 'choice',
            name: 'status',
            label: t('status'),
            options: statuses.map((value) => ({ value, label: t(`statuses.${value}`) })),
          },
        ]}
        values={values}
        onChange={change}
      />
      <DataTable
        label={t('title')}
        listKey={['sign-ups', values, round]}
        read={(cursor, signal) =>
          api.get<RowsPage<SignUp>>(address, { query: { ...values, cursor, limit: 200 }, signal })
        }
        columns={columnsOf(t, setDecision)}
        rowKey={({ signUpId }) => signUpId}
        empty={
          <EmptyState icon="mail" title={t('empty.title')}>
            {t('empty.text')} <a href="/sign-up">{t('empty.form')}</a>
          </EmptyState>
        }
      />
      {decision !== undefined && (
        <Decide
          {...decision}
          onClose={() => setDecision(undefined)}
          onDone={() => {
            discardLists('["sign-ups"');
            setDecision(undefined);
            setRound(round + 1);
          }}
        />
      )}
    </Page>
  );
}

function Decide({
  verb,
  signUp,
  onClose,
  onDone,
}: Decision & { readonly onClose: () => void; readonly onDone: () => void }) {
  const t = useTranslate('sign-ups');
  const { locale } = useFormats();
  const { organizationName, persona, email, givenName, familyName, country } = signUp;
  return (
    <ConfirmDialog
      isOpen
      isDangerous={verb === 'reject'}
      onClose={onClose}
      title={t(`${verb}.of`, { name: organizationName })}
      confirm={t(`${verb}.do`)}
      run={() => api.post<SignUp>(`${address}/${signUp.signUpId}/${verb}`)}
      onDone={() => {
        showToast(t(`${verb}.done`));
        onDone();
      }}
    >
      <p className="sy-dialogue-text">{t(`${verb}.text`)}</p>
      <DescriptionList
        items={[
          [t('persona'), t(`personas.${persona}`)],
          [t('person'), `${givenName} ${familyName}`],
          [t('email'), email],
          [
            t('country'),
            new Intl.DisplayNames([locale], { type: 'region', fallback: 'code' }).of(country),
          ],
        ]}
      />
    </ConfirmDialog>
  );
}
