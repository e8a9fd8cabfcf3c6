/* SPDX-License-Identifier: Apache-2.0 */
#include "np_synth.h"

#include "np_random.h"
#include "np_rank_db.h"

#include "npuprof/rank.h"

#define MB INT64_C(1048576)

static const char *output(const char *file)
{
	return below("run/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/%s", file);
}

/* A rank of one step, and beside it a file of memory. */
static void write_rank(const char *file, const char *text)
{
	make_dirs_above(output("x"));
	write_text(below("run/rank0_ascend_pt/profiler_info_0.json"), "{}");
	write_text(output("step_trace_time.csv"),
		   "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n"
		   "1,1,1,1,1,1\n");
	write_text(output(file), text);
}

static const struct np_memory_peak *peak_of(const struct np_run *run, const char *component)
{
	const struct np_rank *rank = run->ranks[0];

	for (size_t i = 0; i < rank->memory.count; i++) {
		if (strcmp(np_run_text(run, rank->memory.item[i].component), component) == 0)
			return &rank->memory.item[i];
	}
	return NULL;
}

static void assert_peak(const struct np_run *run, const char *component, int64_t allocated,
			int64_t reserved)
{
	const struct np_memory_peak *peak = peak_of(run, component);

	if (!peak)
		fail_msg("nothing is known of %s", component);
	assert_int_equal(peak->allocated, allocated);
	assert_int_equal(peak->reserved, reserved);
}

#define OPERATOR_HEADER \
	"Name,Size(KB),Allocation Time(us),Release Time(us),Allocation Total Allocated(MB)," \
	"Allocation Total Reserved(MB),Release Total Allocated(MB),Release Total Reserved(MB)\n"

static void operators_tell_what_all_had_when_they_allocated_and_released(void **state)
{
	(void)state;
	write_rank("operator_memory.csv",
		   OPERATOR_HEADER "aten::empty,4.0,100.000\t,200.000\t,10.5,64.0,20.0,128.0\n"
				   "cann::MatMul,4.0,110.000\t,,3.0,4.0,,\n"
				   "aten::add,-4.0,120.000\t,130.000\t,15.0,64.0,-2.0,64.0\n");
	{
		struct np_run *run = synth_load(below("run"));

		assert_peak(run, "PTA", 20 * MB, 128 * MB);
		assert_peak(run, "GE", 3 * MB, 4 * MB);
		assert_int_equal(run->ranks[0]->memory.count, 2);
		np_run_free(run);
	}
}

static void records_of_components_are_believed_before_operators(void **state)
{
	(void)state;
	write_rank("operator_memory.csv", OPERATOR_HEADER "aten::empty,4.0,1.0,2.0,99,99,99,99\n");
	write_text(output("memory_record.csv"),
		   "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)\n"
		   "PTA,1.0\t,7.0,8.0\nAPP,1.0\t,,9.0\n");
	{
		struct np_run *run = synth_load(below("run"));

		assert_peak(run, "PTA", 7 * MB, 8 * MB);
		assert_peak(run, "APP", NP_UNKNOWN, 9 * MB);
		np_run_free(run);
	}
}

static void modules_have_names_of_their_own_and_idle_ones_are_left_out(void **state)
{
	(void)state;
	write_rank("npu_module_mem.csv",
		   "Device_id,Component,Timestamp(us),Total Reserved(MB),Device\n"
		   "0,HCCL,1.0\t,5.0,NPU:0\n0,HCCL,2.0\t,6.5,NPU:0\n"
		   "0,APP,1.0\t,3.0,NPU:0\n0,SLOG,1.0\t,0.0,NPU:0\n");
	{
		struct np_run *run = synth_load(below("run"));

		assert_peak(run, "module/HCCL", NP_UNKNOWN, 13 * MB / 2);
		assert_peak(run, "module/APP", NP_UNKNOWN, 3 * MB);
		assert_null(peak_of(run, "APP"));
		assert_null(peak_of(run, "module/SLOG"));
		np_run_free(run);
	}
}

/* msprof writes KB where torch_npu writes MB. */
static void kilobytes_are_a_thousandth_of_megabytes(void **state)
{
	static const char *const files[][3] = {
		{ "memory_record.csv",
		  "Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB)\n"
		  "GE,1.0,2048.0,3072.0\n",
		  "GE" },
		{ "operator_memory.csv",
		  "Name,Size(KB),Allocation Time(us),Allocation Total Allocated(KB),Allocation Total "
		  "Reserved(KB)\ncann::a,1.0,1.0,2048.0,3072.0\n",
		  "GE" },
		{ "npu_module_mem.csv",
		  "Component,Timestamp(us),Total Reserved(KB)\nRUNTIME,1.0,3072.0\n",
		  "module/RUNTIME" },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		struct np_run *run;

		write_rank(files[i][0], files[i][1]);
		run = synth_load(below("run"));
		assert_int_equal(peak_of(run, files[i][2])->reserved, 3 * MB);
		np_run_free(run);
		assert_int_equal(unlink(output(files[i][0])), 0);
	}
}

/* 60 GiB are more KB than a millionth of them times 2^20 has room for. */
static void a_whole_device_in_kilobytes_is_known(void **state)
{
	struct np_run *run;

	(void)state;
	write_rank("memory_record.csv",
		   "Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB)\n"
		   "GE,1.0,2048.0,62914560.0\n");
	run = synth_load(below("run"));
	assert_int_equal(peak_of(run, "GE")->reserved, 60 * 1024 * MB);
	np_run_free(run);
	assert_int_equal(unlink(output("memory_record.csv")), 0);
}

/* Empty, without the columns, with numbers that are none: noted, or without effect. */
static void damaged_memory_files_cost_themselves_alone(void **state)
{
	static const char *const files[] = { "memory_record.csv", "operator_memory.csv",
					     "npu_module_mem.csv" };
	static const char *const texts[] = {
		"",
		"Something,Else\n1,2\n",
		("Component,Name,Timestamp(us),Total Reserved(MB),Allocation Total Allocated(MB)\n"
		 "PTA,aten::x,never,much,many\nGE\n,,,,\nAPP,x,1e999,-5,99999999999999999999\n"),
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		for (size_t j = 0; j < NP_COUNT(texts); j++) {
			struct np_run *run;

			write_rank(files[i], texts[j]);
			run = synth_load(below("run"));
			assert_int_equal(run->ranks[0]->times.count, 1);
			for (size_t k = 0; k < run->ranks[0]->memory.count; k++)
				assert_int_equal(run->ranks[0]->memory.item[k].reserved,
						 NP_UNKNOWN);
			if (j < 2)
				assert_noted(&run->notes, NP_NOTE_SKIPPED, files[i], "");
			np_run_free(run);
			assert_int_equal(unlink(output(files[i])), 0);
		}
	}
}

static void random_damage_to_memory_files_is_survived(void **state)
{
	static const enum np_file files[] = { NP_FILE_MEMORY_RECORD, NP_FILE_OPERATOR_MEMORY,
					      NP_FILE_MODULE_MEMORY };
	const char *dir = below("text");
	struct np_run *run;

	(void)state;
	synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "3", "--layers", "1",
						"--memory", "--format", "text", NULL });
	run = synth_load(dir);
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		char *path = strdup(run->sources.item[0].file[files[i]]);
		size_t length;
		char *whole = read_bytes(path, &length);

		for (uint64_t seed = 1; seed <= 8; seed++) {
			uint64_t chance = seed;
			struct np_run *damaged;
			size_t unused;
			char *bytes = read_bytes(path, &unused);

			for (int k = 0; k < 20; k++)
				bytes[np_random(&chance) % length] = (char)np_random(&chance);
			write_bytes(path, bytes, seed % 2 ? length : length / 3);
			damaged = synth_load(dir);
			assert_non_null(damaged->ranks[0]);
			np_run_free(damaged);
			free(bytes);
			write_bytes(path, whole, length);
		}
		free(whole);
		free(path);
	}
	np_run_free(run);
}

/* --- databases ------------------------------------------------------------------------------- */

static void write_memory_db(void)
{
	rank_db(0);
	rank_kernel(0, 1, 100, 200, "MatMul");
	rank_sql(
		0,
		"CREATE TABLE OP_MEMORY (name INTEGER,size INTEGER,allocationTime INTEGER,"
		"releaseTime INTEGER,allocationTotalAllocated INTEGER,allocationTotalReserved"
		" INTEGER,releaseTotalAllocated INTEGER,releaseTotalReserved INTEGER);"
		"INSERT INTO OP_MEMORY VALUES(T('aten::empty'),1,100,NULL,5000,8000,NULL,NULL),"
		"(T('aten::add'),1,120,130,6000,8000,4000,9000);"
		"CREATE TABLE NPU_OP_MEM (operatorName INTEGER,type INTEGER,size INTEGER,"
		"timestampNs INTEGER,totalAllocate INTEGER,totalReserve INTEGER,component INTEGER);"
		"INSERT INTO NPU_OP_MEM VALUES(T('MatMul'),T('allocate'),1,100,300,400,T('GE'));"
		"CREATE TABLE NPU_MEM (type INTEGER,ddr NUMERIC,hbm NUMERIC,timestampNs INTEGER,"
		"deviceId INTEGER);"
		"INSERT INTO NPU_MEM VALUES(T('app'),0,20000,100,0),(T('device'),0,90000,100,0);"
		"CREATE TABLE ENUM_MODULE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_MODULE VALUES(3,'HCCL'),(4,'SLOG');"
		"CREATE TABLE NPU_MODULE_MEM (moduleId INTEGER,timestampNs INTEGER,totalReserved"
		" INTEGER,deviceId INTEGER);"
		"INSERT INTO NPU_MODULE_MEM VALUES(3,100,700,0),(4,100,0,0),(99,100,5,0)");
}

static void a_database_tells_the_same_from_its_tables(void **state)
{
	struct np_run *run;

	(void)state;
	write_memory_db();
	run = synth_load(below("run"));
	assert_peak(run, "PTA", 6000, 9000);
	assert_peak(run, "GE", 300, 400);
	assert_peak(run, "APP", NP_UNKNOWN, 20000);
	assert_peak(run, "module/HCCL", NP_UNKNOWN, 700);
	assert_peak(run, "module/99", NP_UNKNOWN, 5);
	assert_int_equal(run->ranks[0]->memory.count, 5);
	np_run_free(run);
}

static void records_of_a_database_are_believed_before_its_operators(void **state)
{
	struct np_run *run;

	(void)state;
	write_memory_db();
	rank_sql(0, "CREATE TABLE MEMORY_RECORD (component INTEGER,timestamp INTEGER,totalAllocated"
		    " INTEGER,totalReserved INTEGER);"
		    "INSERT INTO MEMORY_RECORD VALUES(T('PTA'),100,11,12),(T('APP'),100,NULL,13)");
	run = synth_load(below("run"));
	assert_peak(run, "PTA", 11, 12);
	assert_peak(run, "APP", NP_UNKNOWN, 13);
	assert_peak(run, "GE", 300, 400);
	np_run_free(run);
}

static void a_table_of_memory_without_its_columns_costs_itself_alone(void **state)
{
	struct np_run *run;

	(void)state;
	write_memory_db();
	rank_sql(0, "ALTER TABLE NPU_MODULE_MEM RENAME COLUMN moduleId TO other;"
		    "ALTER TABLE OP_MEMORY RENAME COLUMN name TO other");
	run = synth_load(below("run"));
	assert_int_equal(run->ranks[0]->times.count, 1);
	assert_noted(&run->notes, NP_NOTE_SKIPPED, "NPU_MODULE_MEM", "");
	assert_noted(&run->notes, NP_NOTE_SKIPPED, "OP_MEMORY", "");
	assert_peak(run, "APP", NP_UNKNOWN, 20000);
	assert_null(peak_of(run, "PTA"));
	np_run_free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(operators_tell_what_all_had_when_they_allocated_and_released),
		with_fixture(records_of_components_are_believed_before_operators),
		with_fixture(modules_have_names_of_their_own_and_idle_ones_are_left_out),
		with_fixture(kilobytes_are_a_thousandth_of_megabytes),
		with_fixture(a_whole_device_in_kilobytes_is_known),
		with_fixture(damaged_memory_files_cost_themselves_alone),
		with_fixture(random_damage_to_memory_files_is_survived),
		with_fixture(a_database_tells_the_same_from_its_tables),
		with_fixture(records_of_a_database_are_believed_before_its_operators),
		with_fixture(a_table_of_memory_without_its_columns_costs_itself_alone),
	};

	return cmocka_run_group_tests_name("load_memory", tests, NULL, NULL);
}
