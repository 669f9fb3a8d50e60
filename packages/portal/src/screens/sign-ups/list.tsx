/** Sign-up requests of organisations, for the platform operator. */
import { Button } from '@mantine/core';
import type { SignUp } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { DescriptionList, Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import './sign-ups.css';

const path = '/onboarding/v1/sign-ups';
const tones = { Pending: 'warn', Approving: 'busy', Approved: 'good', Rejected: 'bad' } as const;

type Decision = { readonly verb: 'approve' | 'reject'; readonly signUp: SignUp };

const columnsOf = (t: Translate, decide: (decision: Decision) => void): Column<SignUp>[] => [
  textColumn(t('organization'), ({ organizationName }) => organizationName, 'lead'),
  { header: t('persona'), width: '11rem', cell: ({ persona }) => t(`personas.${persona}`) },
  textColumn(t('email'), ({ email }) => email, 'sub'),
  timeColumn(t('created'), ({ createdAt }) => createdAt),
  {
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

export default function SignUps() {
  const t = useTranslate('sign-ups');
  const [decision, setDecision] = useState<Decision | undefined>(undefined);
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <ResourceList
        label={t('title')}
        name="sign-ups"
        path={path}
        filters={[
          {
            kind: 'choice',
            name: 'status',
            label: t('status'),
            options: translatedOptions(t, 'statuses', Object.keys(tones)),
          },
        ]}
        columns={columnsOf(t, setDecision)}
        rowKey={({ signUpId }) => signUpId}
        empty={{
          icon: 'mail',
          title: t('empty.title'),
          text: (
            <>
              {t('empty.text')} <a href="/sign-up">{t('empty.form')}</a>
            </>
          ),
        }}
      />
      {decision !== undefined && <Decide {...decision} onClose={() => setDecision(undefined)} />}
    </Page>
  );
}

function Decide({ verb, signUp, onClose }: Decision & { readonly onClose: () => void }) {
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
      run={() => api.post<SignUp>(`${path}/${signUp.signUpId}/${verb}`)}
      onDone={() => {
        showToast(t(`${verb}.done`));
        reloadData('sign-ups');
        onClose();
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
