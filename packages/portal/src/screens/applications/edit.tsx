/** Edits an application. */
import type { Application } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { reloadData } from '../../app/reload-data.ts';
import { usePathParam } from '../../app/url-params.ts';
import { replaceVersioned } from '../../app/versioned-resources.ts';
import { EditPage } from '../../components/forms/edit-page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { useApplication, useApplicationsApiUrl } from './application-queries.ts';
import { applicationSections } from './application-sections.ts';
import { RoleField } from './role-field.tsx';
import './applications.css';

export default function EditApplication() {
  const t = useTranslate('applications');
  const navigate = useNavigate();
  const clientId = usePathParam('clientId');
  const path = `${useApplicationsApiUrl()}/${clientId}`;
  const application = useApplication(clientId).data?.body;
  const leave = () => void navigate({ to: `/applications/${clientId}` });
  return (
    <EditPage<Application>
      t={t}
      name="application"
      path={path}
      title={t('edit.title')}
      backLink={{ to: `/applications/${clientId}`, label: application?.name ?? t('title') }}
      sections={(draft) =>
        applicationSections(draft, application?.clientType ?? 'Confidential', false)
      }
      customInputs={{ roles: RoleField }}
      isTwoColumns
      confirm={t('edit.do')}
      outdated={t('edit.changed')}
      unchanged={({ type, status }) => ({ type, status })}
      run={(body, etag) => replaceVersioned(path, etag, body)}
      onDone={() => {
        reloadData('applications', 'application');
        showToast(t('edit.done'));
        leave();
      }}
      onCancel={leave}
    />
  );
}
